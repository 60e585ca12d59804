import type { Random } from "../support/random-of.ts";
import { ENTERPRISE_URN } from "./support.ts";

type Value = Record<string, unknown>;

/** Texts that differ in case, accents, and what SQL, LIKE and JSON treat as special. */
export const TEXTS = [
  "a",
  "A",
  "b",
  "ab",
  "Ba",
  "É",
  "é",
  "%",
  "_b",
  "'",
  '"q"',
  "\\",
  "ß",
  "日本",
  "a b",
  "😀",
  "zz",
  "0",
];

/** What the model knows of an attribute. */
export interface Modelled {
  path: string;
  kind: "text" | "exact" | "boolean" | "time";
  /** The values of a resource. */
  of(resource: Value): unknown[];
  /** It has several values. */
  several?: true;
}

const single = (value: unknown): unknown[] => (value === undefined ? [] : [value]);
const listed = (resource: Value, name: string, part: string): unknown[] =>
  ((resource[name] as Value[] | undefined) ?? []).map((value) => value[part]);
const inside = (resource: Value, name: string, part: string): unknown[] =>
  single((resource[name] as Value | undefined)?.[part]);

/** Attributes of users. */
export const ATTRIBUTES: readonly Modelled[] = [
  { path: "userName", kind: "text", of: (user) => single(user["userName"]) },
  { path: "displayName", kind: "text", of: (user) => single(user["displayName"]) },
  { path: "title", kind: "text", of: (user) => single(user["title"]) },
  { path: "profileUrl", kind: "exact", of: (user) => single(user["profileUrl"]) },
  { path: "externalId", kind: "exact", of: (user) => single(user["externalId"]) },
  { path: "id", kind: "exact", of: (user) => single(user["id"]) },
  { path: "active", kind: "boolean", of: (user) => single(user["active"]) },
  { path: "name.givenName", kind: "text", of: (user) => inside(user, "name", "givenName") },
  { path: "name.familyName", kind: "text", of: (user) => inside(user, "name", "familyName") },
  { path: "meta.created", kind: "time", of: (user) => inside(user, "meta", "created") },
  { path: "meta.lastModified", kind: "time", of: (user) => inside(user, "meta", "lastModified") },
  { path: "emails", kind: "text", several: true, of: (user) => listed(user, "emails", "value") },
  { path: "emails.type", kind: "text", several: true, of: (user) => listed(user, "emails", "type") },
  { path: "emails.primary", kind: "boolean", several: true, of: (user) => listed(user, "emails", "primary") },
  { path: "photos.value", kind: "exact", several: true, of: (user) => listed(user, "photos", "value") },
  { path: "addresses.country", kind: "text", several: true, of: (user) => listed(user, "addresses", "country") },
  { path: "groups.display", kind: "text", several: true, of: (user) => listed(user, "groups", "display") },
  { path: `${ENTERPRISE_URN}:department`, kind: "text", of: (user) => inside(user, ENTERPRISE_URN, "department") },
  {
    path: `${ENTERPRISE_URN}:manager.value`,
    kind: "exact",
    of: (user) => inside((user[ENTERPRISE_URN] as Value | undefined) ?? {}, "manager", "value"),
  },
];

const PARTS: Readonly<Record<string, readonly Omit<Modelled, "of">[]>> = {
  emails: [
    { path: "value", kind: "text" },
    { path: "type", kind: "text" },
    { path: "primary", kind: "boolean" },
  ],
  addresses: [
    { path: "country", kind: "text" },
    { path: "locality", kind: "text" },
  ],
  groups: [
    { path: "display", kind: "text" },
    { path: "value", kind: "text" },
  ],
};

/** A filter as text, and what it means. */
export interface Case {
  text: string;
  holds(resource: Value): boolean;
}

const fold = (text: string): string => text.normalize("NFC").toLowerCase();
const cased = (random: Random, text: string): string =>
  random.chance(0.3) ? (random.chance(0.5) ? text.toUpperCase() : text.toLowerCase()) : text;
const points = (text: string): number[] => Array.from(text, (char) => char.codePointAt(0) as number);

function order(a: string, b: string): number {
  const [x, y] = [points(a), points(b)];
  for (let at = 0; at < Math.min(x.length, y.length); at++) if (x[at] !== y[at]) return (x[at] ?? 0) - (y[at] ?? 0);
  return x.length - y.length;
}

const COMPARE: Readonly<Record<string, (held: string, wanted: string) => boolean>> = {
  eq: (held, wanted) => held === wanted,
  co: (held, wanted) => held.includes(wanted),
  sw: (held, wanted) => held.startsWith(wanted),
  ew: (held, wanted) => held.endsWith(wanted),
  gt: (held, wanted) => order(held, wanted) > 0,
  ge: (held, wanted) => order(held, wanted) >= 0,
  lt: (held, wanted) => order(held, wanted) < 0,
  le: (held, wanted) => order(held, wanted) <= 0,
};

/** A comparison of one attribute. `samples`: texts that resources have. */
function compared(
  random: Random,
  { kind, several }: Pick<Modelled, "kind" | "several">,
  samples: readonly string[],
): { text: string; holds(values: readonly unknown[]): boolean } {
  const present = (values: readonly unknown[]) => values.filter((value) => value !== undefined);
  if (random.chance(0.15)) return { text: "pr", holds: (values) => present(values).length > 0 };
  if (random.chance(0.08)) return { text: "eq null", holds: (values) => present(values).length === 0 };
  const wanted = kind === "boolean" ? String(random.chance(0.5)) : random.pick(samples.length > 0 ? samples : TEXTS);
  const operators =
    kind === "boolean"
      ? ["eq", "ne"]
      : kind === "time"
        ? ["eq", "ne", "gt", "ge", "lt", "le"]
        : [...Object.keys(COMPARE), "ne"];
  const operator = random.pick(operators);
  const norm = (value: unknown): string =>
    kind === "time" ? new Date(String(value)).toISOString() : kind === "text" ? fold(String(value)) : String(value);
  const literal = kind === "boolean" ? wanted : JSON.stringify(wanted);
  return {
    text: `${cased(random, operator)} ${literal}`,
    holds(values) {
      const right = norm(wanted);
      if (operator !== "ne")
        return values.some((value) => value !== undefined && COMPARE[operator]?.(norm(value), right) === true);
      if (values.length === 0) return true;
      const differs = (value: unknown) => value === undefined || norm(value) !== right;
      return several ? values.some(differs) : values.every(differs);
    },
  };
}

function partsFilter(
  random: Random,
  parts: readonly Omit<Modelled, "of">[],
  samples: Samples,
  name: string,
  depth: number,
): Case {
  if (depth > 0 && random.chance(0.5))
    return joined(random, () => partsFilter(random, parts, samples, name, depth - 1));
  const part = random.pick(parts);
  const { text, holds } = compared(random, part, samples(`${name}.${part.path}`));
  return { text: `${cased(random, part.path)} ${text}`, holds: (value) => holds(single(value[part.path])) };
}

type Samples = (path: string) => readonly string[];

function joined(random: Random, term: () => Case): Case {
  if (random.chance(0.25)) {
    const inner = term();
    return { text: `${cased(random, "not")} (${inner.text})`, holds: (value) => !inner.holds(value) };
  }
  const [one, other] = [term(), term()];
  const and = random.chance(0.5);
  return {
    text: `(${one.text} ${cased(random, and ? "and" : "or")} ${other.text})`,
    holds: (value) => (and ? one.holds(value) && other.holds(value) : one.holds(value) || other.holds(value)),
  };
}

/** A random filter. */
export function randomFilter(random: Random, samples: Samples, depth = 3): Case {
  if (depth > 0 && random.chance(0.6)) return joined(random, () => randomFilter(random, samples, depth - 1));
  if (random.chance(0.2)) {
    const name = random.pick(Object.keys(PARTS));
    const inner = partsFilter(random, PARTS[name] ?? [], samples, name, 2);
    return {
      text: `${name}[${inner.text}]`,
      holds: (resource) => ((resource[name] as Value[] | undefined) ?? []).some((value) => inner.holds(value)),
    };
  }
  const attribute = random.pick(ATTRIBUTES);
  const { text, holds } = compared(random, attribute, samples(attribute.path));
  return { text: `${cased(random, attribute.path)} ${text}`, holds: (resource) => holds(attribute.of(resource)) };
}
