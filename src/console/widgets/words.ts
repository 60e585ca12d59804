/** `first_name` → `First name`. */
export function inWords(name: string): string {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/gu, "$1_$2")
    .toLowerCase()
    .split("_")
    .join(" ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A member of free metadata, where it is a text. */
export const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Joins the class names that apply. */
export const classes = (...names: (string | false | undefined)[]): string => names.filter(Boolean).join(" ");

/** `3 sessions`, `1 session`. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
