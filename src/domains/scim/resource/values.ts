import { normalizeLong } from "../../../platform/normalize.ts";

/** A value of JSON. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** A resource, or a complex value, under the names of its schema; attributes without a value are absent. */
export interface Resource {
  [name: string]: Json;
}

/** Whether a value is an object. */
export function isObject(value: unknown): value is Resource {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether two values are the same; the order of members does not count. */
export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((value, at) => sameJson(value as Json, b[at] as Json));
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && sameJson(a[name], b[name]))
  );
}

/** From how many values on they are compared by their texts. */
export const LONG = 50;

/** The text of a value, which equal values share, whatever the order of their members. */
export function canonicalText(value: Json): string {
  return JSON.stringify(isObject(value) ? Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)) : value);
}

/** A text as it is compared where case does not count. */
export function foldText(text: string): string {
  return normalizeLong(text, "NFC").toLowerCase();
}
