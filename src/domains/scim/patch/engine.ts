import { scimErrors } from "../errors.ts";
import { described, FilterSyntaxError, predicateOf } from "../filter/index.ts";
import { readExtension, readOne, readSeveral } from "../resource/read.ts";
import { isObject } from "../resource/values.ts";
import type { Json, Resource } from "../resource/values.ts";
import type { Attribute, ResourceKind } from "../schema/index.ts";
import { readOperations, targetOf } from "./operations.ts";
import type { Operation, PathTarget } from "./operations.ts";
import * as values from "./values.ts";
import { createWork, workOf } from "./work.ts";
import type { Work } from "./work.ts";

type Verb = Operation["op"];
type Change = { op: Verb; value: unknown; work: Work };

function demandWritable({ attribute, sub }: PathTarget): void {
  if (attribute?.mutability === "readOnly" || sub?.mutability === "readOnly")
    throw scimErrors.mutability(`${sub?.name ?? attribute?.name} is read-only.`);
  if (sub?.mutability === "immutable") throw scimErrors.mutability(`${sub.name} does not change; replace the value.`);
}

/** Sets parts of a complex value; a part without a value is removed. */
function merge(into: Resource, attribute: Attribute, value: unknown): void {
  for (const [part, held] of values.partsOf(attribute, value)) values.put(into, part.name, held);
}

function changeSingle(into: Resource, attribute: Attribute, sub: Attribute | undefined, { op, value }: Change): void {
  const { name } = attribute;
  if (sub !== undefined) {
    const held: Resource = isObject(into[name]) ? into[name] : {};
    values.put(held, sub.name, op === "remove" ? undefined : readOne(sub, value));
    values.put(into, name, Object.keys(held).length === 0 ? undefined : held);
  } else if (op === "remove" || value === null) delete into[name];
  else if (attribute.type !== "complex") values.put(into, name, readOne(attribute, value));
  else {
    const held: Resource = isObject(into[name]) ? into[name] : {};
    // Entra sends the manager as a list of one.
    merge(held, attribute, Array.isArray(value) && value.length === 1 ? value[0] : value);
    values.put(into, name, Object.keys(held).length === 0 ? undefined : held);
  }
}

/** A change of an attribute with several values, without a filter. */
function changeAll(
  list: Json[],
  attribute: Attribute,
  sub: Attribute | undefined,
  { op, value, work }: Change,
): Json[] {
  if (sub !== undefined) {
    const part = op === "remove" ? undefined : readOne(sub, value);
    if (list.length === 0 && part !== undefined) list.push({ [sub.name]: part });
    else for (const held of list) if (isObject(held)) values.put(held, sub.name, part);
    return values.withoutEmpty(list);
  }
  if (op === "remove")
    return value === undefined || value === null
      ? []
      : values.removeWhere(list, values.named(attribute, value, list.length, work));
  const given = readSeveral(attribute, value) ?? [];
  if (op === "replace") return [...given];
  values.append(list, given, work);
  return list;
}

/** A change of those values of an attribute that a filter selects. */
function changeMatching(list: Json[], target: PathTarget, { op, value, work }: Change): Json[] {
  const { sub, filter } = target;
  const attribute = target.attribute as Attribute;
  if (filter !== undefined) work.spend(workOf(filter) * list.length);
  const matches = filter === undefined ? () => true : predicate(attribute, filter, work);
  if (op === "remove" && sub === undefined) return values.removeWhere(list, matches);
  const matching = list.filter(matches).filter(isObject);
  if (op === "remove" && sub !== undefined) {
    for (const held of matching) delete held[sub.name];
    return values.withoutEmpty(list);
  }
  if (matching.length === 0) {
    const made = op === "add" && filter !== undefined ? readOne(attribute, described(attribute, filter)) : undefined;
    if (!isObject(made)) throw scimErrors.noTarget(`No value of ${attribute.name} matches the filter.`);
    matching.push(made);
    list.push(made);
  }
  for (const held of matching) {
    if (sub !== undefined) values.put(held, sub.name, readOne(sub, value));
    else {
      if (op === "replace") for (const name of Object.keys(held)) delete held[name];
      merge(held, attribute, value);
    }
  }
  return values.withoutEmpty(list);
}

function predicate(
  attribute: Attribute,
  filter: NonNullable<PathTarget["filter"]>,
  { fold }: Work,
): (value: Json) => boolean {
  try {
    return predicateOf(attribute, filter, fold);
  } catch (error) {
    if (!(error instanceof FilterSyntaxError)) throw error;
    throw scimErrors.invalidPath(`The path cannot be read: ${error.message}.`);
  }
}

function changeSeveral(into: Resource, target: PathTarget, change: Change): void {
  const attribute = target.attribute as Attribute;
  const held = into[attribute.name];
  const list: Json[] = Array.isArray(held) ? (held as Json[]) : [];
  change.work.spend(list.length);
  const before = values.primariesOf(list);
  const next =
    target.filter === undefined ? changeAll(list, attribute, target.sub, change) : changeMatching(list, target, change);
  values.onePrimary(attribute, before, next);
  values.demandCount(attribute, next, change.work);
  values.put(into, attribute.name, next.length === 0 ? undefined : next);
}

/** Applies an operation to the attribute that a target names. */
function changeTarget(kind: ResourceKind, resource: Resource, target: PathTarget, change: Change): void {
  const { extension, attribute, filter } = target;
  demandWritable(target);
  const held = extension === undefined ? resource : resource[extension];
  const container: Resource = isObject(held) ? held : {};
  if (attribute === undefined) return changeExtension(kind, resource, extension ?? "", change);
  if (change.op === "remove" && attribute.required && target.sub === undefined && filter === undefined)
    throw scimErrors.mutability(`${attribute.name} is required, and is not removed.`);
  if (attribute.multiValued) changeSeveral(container, target, change);
  else if (filter !== undefined) throw scimErrors.invalidPath(`${attribute.name} has not several values.`);
  else changeSingle(container, attribute, target.sub, change);
  if (extension !== undefined)
    values.put(resource, extension, Object.keys(container).length === 0 ? undefined : container);
}

function changeExtension(kind: ResourceKind, resource: Resource, urn: string, { op, value, work }: Change): void {
  if (op === "remove" || value === null) return void delete resource[urn];
  if (!isObject(value)) throw scimErrors.invalidValue(`${urn} must be an object.`);
  readExtension(kind, urn, value);
  for (const [name, held] of Object.entries(value))
    changeNamed(kind, resource, `${urn}:${name}`, { op, value: held, work });
}

/**
 * Applies one member of a value object: its name may be dotted, a URN, or a path with a filter, as Okta and Entra send
 * them. Unknown and read-only names are ignored (decisions 8.9).
 */
function changeNamed(kind: ResourceKind, resource: Resource, name: string, change: Change): void {
  let target: PathTarget | undefined;
  try {
    target = targetOf(kind, name);
  } catch (error) {
    if (!(error instanceof FilterSyntaxError)) throw error;
  }
  if (target === undefined) return;
  if (target.attribute?.mutability === "readOnly" || target.sub?.mutability === "readOnly") return;
  changeTarget(kind, resource, target, change);
}

/** Applies an operation to a resource. */
export function carryOut(kind: ResourceKind, resource: Resource, { op, target, value }: Operation, work: Work): void {
  if (target !== undefined) changeTarget(kind, resource, target, { op, value, work });
  else if (!isObject(value)) throw scimErrors.invalidValue(`${op} without a path needs an object.`);
  else for (const [name, held] of Object.entries(value)) changeNamed(kind, resource, name, { op, value: held, work });
}

/**
 * Reads a PATCH body as a function that gives a resource after it; the resource before is not changed.
 * @throws {invalidSyntax} when the body has not the structure of a PATCH
 * @throws {invalidPath} when a path cannot be read, or names no attribute
 * @throws {tooMany} when it has more than 1,000 operations; the function throws it when they do too much together
 */
export function readPatch(
  kind: ResourceKind,
  body: Readonly<Record<string, unknown>>,
): (current: Resource) => Resource {
  const operations = readOperations(kind, body);
  return (current) => {
    const [resource, work] = [structuredClone(current), createWork()];
    for (const operation of operations) carryOut(kind, resource, operation, work);
    return resource;
  };
}
