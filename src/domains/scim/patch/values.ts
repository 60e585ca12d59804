import { scimErrors } from "../errors.ts";
import { checkCount, readOne, readSeveral } from "../resource/read.ts";
import { foldText, isObject, sameJson } from "../resource/values.ts";
import type { Json, Resource } from "../resource/values.ts";
import type { Attribute } from "../schema/index.ts";

/** Sets a member, or removes it where there is no value. */
export function put(into: Resource, name: string, value: Json | undefined): void {
  if (value === undefined) delete into[name];
  else into[name] = value;
}

/** Texts of the values of a long list, kept while operations add to it. */
const known = new WeakMap<readonly Json[], Set<string>>();

/** Adds values that are not there yet. */
export function append(list: Json[], values: readonly Json[]): void {
  if (list.length < 50) {
    for (const value of values) if (!list.some((held) => sameJson(held, value))) list.push(value);
    return;
  }
  let texts = known.get(list);
  if (texts === undefined) known.set(list, (texts = new Set(list.map((held) => JSON.stringify(held)))));
  for (const value of values) {
    const text = JSON.stringify(value);
    if (!texts.has(text)) {
      texts.add(text);
      list.push(value);
    }
  }
}

/** Removes values by a predicate. */
export function removeWhere(list: Json[], predicate: (value: Json) => boolean): Json[] {
  const kept = list.filter((value) => !predicate(value));
  return kept.length === list.length ? list : kept;
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
}

/** The values that are primary. */
export function primariesOf(list: readonly Json[]): Set<Json> {
  return new Set(list.filter((value) => isObject(value) && value["primary"] === true));
}

/** Whether a value has all parts of another, without case where it does not count. */
function covers(attribute: Attribute, held: Json, wanted: Json): boolean {
  if (!isObject(held) || !isObject(wanted)) return sameJson(held, wanted);
  return attribute.subAttributes.every(({ name, caseExact }) => {
    const [is, asked] = [held[name], wanted[name]];
    if (asked === undefined || sameJson(is, asked)) return true;
    return !caseExact && typeof is === "string" && typeof asked === "string" && foldText(is) === foldText(asked);
  });
}

/** A predicate for the values that a `remove` names beside its path (decisions 8.9). */
export function named(attribute: Attribute, value: unknown): (held: Json) => boolean {
  const wanted = readSeveral(attribute, value) ?? [];
  return (held) => wanted.some((one) => covers(attribute, held, one));
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
export function demandCount(attribute: Attribute, list: readonly Json[]): void {
  checkCount(attribute, list.length, attribute.name);
}
