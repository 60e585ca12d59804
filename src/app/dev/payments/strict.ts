/** Members of a request by path: `line_items.0.quantity`. */
export type Fields = ReadonlyMap<string, string>;

/** What each member must look like, by path; `#` stands for any index, and a `!` at the end demands the member. */
export type Rules = Readonly<Record<string, RegExp>>;

/** The fields of a form in Stripe's notation, `line_items[0][quantity]`. */
export function fieldsOfForm(text: string): Fields {
  return new Map([...new URLSearchParams(text)].map(([key, value]) => [key.replaceAll(/\[(\w+)\]/gu, ".$1"), value]));
}

/** The fields of a JSON value. */
export function fieldsOfJson(value: unknown, path = ""): Fields {
  const fields = new Map<string, string>();
  if (value === null || value === undefined) return fields;
  if (typeof value !== "object") return fields.set(path, typeof value === "string" ? value : JSON.stringify(value));
  for (const [key, member] of Object.entries(value))
    for (const [inner, text] of fieldsOfJson(member, path === "" ? key : `${path}.${key}`)) fields.set(inner, text);
  return fields;
}

/** The first thing that is wrong with a request, as its path and a reason; undefined when nothing is. */
export function firstFault(fields: Fields, rules: Rules): { path: string; reason: string } | undefined {
  const known = Object.entries(rules).map(([path, pattern]) => ({
    path: path.replace(/!$/u, ""),
    isRequired: path.endsWith("!"),
    pattern,
  }));
  for (const [path, value] of fields) {
    const general = path.replaceAll(/(?<=\.)\d+(?=\.|$)/gu, "#");
    const rule = known.find((candidate) => candidate.path === general);
    if (rule === undefined) return { path, reason: "is unknown" };
    if (!rule.pattern.test(value)) return { path, reason: `must match ${rule.pattern.source}, and is ${value}` };
  }
  for (const { path, isRequired } of known)
    if (isRequired && !fields.has(path.replaceAll("#", "0")))
      return { path: path.replaceAll("#", "0"), reason: "is missing" };
  return undefined;
}

/** Texts of any length above zero. */
export const TEXT = /^.+$/su;
/** Web pages. */
export const PAGE = /^https?:\/\/.+$/u;
/** Whole numbers. */
export const WHOLE = /^\d{1,9}$/u;
