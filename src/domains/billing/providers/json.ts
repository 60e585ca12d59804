/** A JSON object of which nothing is known: members are read one by one. */
export type Unknown = Readonly<Record<string, unknown>>;

/** A member that is an object; an empty one otherwise. */
export function objectOf(value: unknown): Unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Unknown) : {};
}

/** A member that is a text, or an object with an `id`, as expandable members of Stripe are. */
export function idOf(value: unknown): string | undefined {
  return textOf(typeof value === "string" ? value : objectOf(value)["id"]);
}

/** A whole number of minor units, also as a text; undefined for anything else. */
export function amountOf(value: unknown): number | undefined {
  const amount = typeof value === "string" && /^\d{1,15}$/u.test(value) ? Number(value) : value;
  return typeof amount === "number" && Number.isSafeInteger(amount) && amount >= 0 ? amount : undefined;
}

/** A text, or undefined. What PostgreSQL does not store is replaced: an event is kept, whatever its words are. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value.replaceAll("\0", "\uFFFD").toWellFormed() : undefined;
}

/** A time in seconds since the epoch, as ISO 8601. */
export function secondsOf(value: unknown): string | undefined {
  return typeof value === "number" && Number.isFinite(value) && Math.abs(value) < 1e11
    ? new Date(value * 1000).toISOString()
    : undefined;
}

/** A time as ISO 8601, normalized. */
export function timeOf(value: unknown): string | undefined {
  const at = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

/** The items that are not undefined. */
export function defined<T>(...items: readonly (T | undefined)[]): T[] {
  return items.filter((item) => item !== undefined);
}
