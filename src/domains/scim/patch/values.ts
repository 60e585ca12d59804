import { scimErrors } from "../errors.ts";
import { checkCount, readOne, readSeveral } from "../resource/read.ts";
import { canonicalText, isObject, LONG, sameJson } from "../resource/values.ts";
import type { Json, Resource } from "../resource/values.ts";
import type { Attribute } from "../schema/index.ts";
import type { Work } from "./work.ts";

/** Sets a member, or removes it where there is no value. */
export function put(into: Resource, name: string, value: Json | undefined): void {
  if (value === undefined) delete into[name];
  else into[name] = value;
}

/** Texts of the values of a long list, kept while operations add to it and remove from it. */
const known = new WeakMap<readonly Json[], Set<string>>();
/** Work of making the text of a value. */
const TEXT = 4;

/** Adds values that are not there yet. */
export function append(list: Json[], values: readonly Json[], work: Work): void {
  let texts = known.get(list);
  if (texts === undefined && list.length + values.length < LONG) {
    for (const value of values) if (!list.some((held) => sameJson(held, value))) list.push(value);
    return;
  }
  if (texts === undefined) {
    work.spend(TEXT * list.length);
    known.set(list, (texts = new Set(list.map(canonicalText))));
  }
  for (const value of values) {
    const text = canonicalText(value);
    if (!texts.has(text)) {
      texts.add(text);
      list.push(value);
    }
  }
}

/** Removes values by a predicate. */
export function removeWhere(list: Json[], predicate: (value: Json) => boolean): Json[] {
  const texts = known.get(list);
  const kept = list.filter((value) => {
    if (!predicate(value)) return true;
    texts?.delete(canonicalText(value));
    return false;
  });
  if (kept.length === list.length) return list;
  if (texts !== undefined) known.set(kept, texts);
  return kept;
}

/** The values of a list that has changed in place, without those that have no part any more. */
export function withoutEmpty(list: Json[]): Json[] {
  known.delete(list);
  return list.filter((value) => !isObject(value) || Object.keys(value).length > 0);
}

/**
 * Keeps one primary value: where an operation has made another one primary, the one before is no longer.
 * @throws {invalidValue} when an operation makes several primary
 */
export function onePrimary(attribute: Attribute, before: ReadonlySet<Json>, list: Json[]): void {
  const primary = list.filter((value) => isObject(value) && value["primary"] === true);
  if (primary.length < 2) return;
  const chosen = primary.filter((value) => !before.has(value));
  if (chosen.length !== 1) throw scimErrors.invalidValue(`${attribute.name} has several primary values.`);
  for (const value of primary) if (!chosen.includes(value)) (value as Resource)["primary"] = false;
  known.delete(list);
}

/** The values that are primary. */
export function primariesOf(list: readonly Json[]): Set<Json> {
  return new Set(list.filter((value) => isObject(value) && value["primary"] === true));
}

/** With more values to look for, they are found by a key in place of one by one. */
const FEW = 8;

/** A part of a value as it is compared: without case where it does not count. */
function comparable({ caseExact }: Attribute, part: Json | undefined, { fold }: Work): Json | undefined {
  return typeof part === "string" && !caseExact ? fold(part) : part;
}

/** A predicate for the values that have all parts of another. */
function covers(attribute: Attribute, wanted: Json, work: Work): (held: Json) => boolean {
  if (!isObject(wanted)) return (held) => sameJson(held, wanted);
  const parts = attribute.subAttributes
    .filter(({ name }) => wanted[name] !== undefined)
    .map((part) => ({ part, asked: comparable(part, wanted[part.name], work) }));
  return (held) =>
    isObject(held) && parts.every(({ part, asked }) => comparable(part, held[part.name], work) === asked);
}

/** As {@link covers} for any of many values: those with the same parts have keys in one set. */
function coversAny(attribute: Attribute, wanted: readonly Resource[], work: Work): (held: Json) => boolean {
  const keyOf = (parts: readonly Attribute[], value: Resource): string =>
    JSON.stringify(parts.map((part) => comparable(part, value[part.name], work) ?? null));
  const byShape = Map.groupBy(wanted, (one) => Object.keys(one).sort().join());
  const all = [...byShape.values()].map((alike) => {
    const parts = attribute.subAttributes.filter(({ name }) => alike[0]?.[name] !== undefined);
    return { parts, keys: new Set(alike.map((one) => keyOf(parts, one))) };
  });
  return (held) => isObject(held) && all.some(({ parts, keys }) => keys.has(keyOf(parts, held)));
}

/**
 * A predicate for the values that a `remove` names beside its path (decisions 8.9), for a list of `length` values.
 */
export function named(attribute: Attribute, value: unknown, length: number, work: Work): (held: Json) => boolean {
  const wanted = readSeveral(attribute, value) ?? [];
  work.spend(length * Math.min(wanted.length, FEW));
  if (wanted.length > FEW && wanted.every(isObject)) return coversAny(attribute, wanted, work);
  const any = wanted.map((one) => covers(attribute, one, work));
  return (held) => any.some((is) => is(held));
}

/** The parts of a complex value that an operation gives; undefined for those it removes. */
export function partsOf(attribute: Attribute, value: unknown): Map<Attribute, Json | undefined> {
  const whole = readOne(attribute, value);
  const read = isObject(whole) ? whole : {};
  const given = isObject(value) ? new Set(Object.keys(value).map((name) => name.toLowerCase())) : new Set(["value"]);
  return new Map(
    attribute.subAttributes
      .filter(({ name, mutability }) => mutability !== "readOnly" && given.has(name.toLowerCase()))
      .map((part) => [part, read[part.name]]),
  );
}

/** @throws {invalidValue} when a list has become too long */
export function demandCount(attribute: Attribute, list: readonly Json[], { unread }: Work): void {
  checkCount(attribute, list.length + unread, attribute.name);
}
