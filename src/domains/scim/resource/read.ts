import { scimErrors } from "../errors.ts";
import { attributeNamed, coreAttribute, extensionOf } from "../schema/index.ts";
import type { Attribute, ResourceKind } from "../schema/index.ts";
import { canonicalText, isObject, LONG, sameJson } from "./values.ts";
import type { Json, Resource } from "./values.ts";

/** Maximum length of a text, in UTF-16 units. */
const MAX_TEXT = 1_024;
const MAX_NAME = 256;
/** Maximum length of an external id, which is indexed: PostgreSQL takes 2,704 bytes. */
const MAX_EXTERNAL_ID = 512;
/** Maximum values of an attribute. */
const MAX_VALUES = 100;
/** Maximum members of a group. */
const MAX_MEMBERS = 10_000;

const wrong = (path: string, what: string) => scimErrors.invalidValue(`${path} ${what}.`);

function mostOf(name: string): number {
  if (name === "externalId") return MAX_EXTERNAL_ID;
  return name === "userName" || name === "displayName" ? MAX_NAME : MAX_TEXT;
}

function readText({ name }: Attribute, value: unknown, path: string): string | undefined {
  if (typeof value !== "string") throw wrong(path, "must be a string");
  const most = mostOf(name);
  if (value.length > most) throw wrong(path, `must have at most ${most} characters`);
  return value === "" ? undefined : value;
}

/** Microsoft Entra ID sends booleans as the strings `True` and `False` (decisions 8.9). */
function readBoolean(value: unknown, path: string): boolean {
  if (typeof value === "boolean") return value;
  if (value === "" || typeof value !== "string" || !/^(?:true|false)$/iu.test(value))
    throw wrong(path, "must be true or false");
  return value.toLowerCase() === "true";
}

/** A member of a group is its id: the rest follows from it. */
function memberOf({ value, type }: Resource, path: string): Resource {
  if (typeof type === "string" && type.toLowerCase() !== "user") throw wrong(path, "are users, and no groups");
  return value === undefined ? {} : { value };
}

function readParts(attribute: Attribute, value: unknown, path: string): Resource | undefined {
  // A complex attribute whose value is given alone, as Entra does for a manager.
  const given =
    typeof value === "string" && attributeNamed(attribute.subAttributes, "value") !== undefined ? { value } : value;
  if (!isObject(given)) throw wrong(path, "must be an object");
  const read = readMembers(given, (name) => attributeNamed(attribute.subAttributes, name), path);
  const parts = attribute.name === "members" ? memberOf(read, path) : read;
  return Object.keys(parts).length === 0 ? undefined : parts;
}

/** One value of an attribute; undefined for an empty one, which is the same as none (RFC 7643 §2.5). */
export function readOne(attribute: Attribute, value: unknown, path = attribute.name): Json | undefined {
  if (value === null || value === undefined) return undefined;
  if (attribute.type === "complex") return readParts(attribute, value, path);
  return attribute.type === "boolean" ? readBoolean(value, path) : readText(attribute, value, path);
}

/** @throws {invalidValue} when an attribute has more values than it may have */
export function checkCount({ name }: Attribute, count: number, path: string): void {
  const most = name === "members" ? MAX_MEMBERS : MAX_VALUES;
  if (count > most) throw wrong(path, `has more than ${most} values`);
}

/** The values of an attribute that has several, without repetitions; undefined for none. */
export function readSeveral(attribute: Attribute, value: unknown, path = attribute.name): readonly Json[] | undefined {
  if (value === null || value === undefined) return undefined;
  const given = Array.isArray(value) ? value : [value];
  checkCount(attribute, given.length, path);
  return checkSeveral(
    given.flatMap((one) => readOne(attribute, one, path) ?? []),
    path,
  );
}

/**
 * Values without repetitions; undefined for none.
 * @throws {invalidValue} when several are primary
 */
function checkSeveral(values: readonly Json[], path: string): readonly Json[] | undefined {
  const kept = distinct(values);
  if (kept.filter((value) => isObject(value) && value["primary"] === true).length > 1)
    throw wrong(path, "has several primary values");
  return kept.length === 0 ? undefined : kept;
}

function distinct(values: readonly Json[]): Json[] {
  if (values.length < LONG)
    return values.filter((value, at) => values.findIndex((other) => sameJson(other, value)) === at);
  const known = new Set<string>();
  return values.filter((value) => {
    const text = canonicalText(value);
    return known.has(text) ? false : known.add(text);
  });
}

/** A value of an attribute as it is stored; undefined for none. */
function readValue(attribute: Attribute, value: unknown, path = attribute.name): Json | undefined {
  return attribute.multiValued ? readSeveral(attribute, value, path) : readOne(attribute, value, path);
}

function readMembers(
  given: Readonly<Record<string, unknown>>,
  named: (name: string) => Attribute | undefined,
  path: string,
): Resource {
  const read: Resource = {};
  const seen = new Set<Attribute>();
  for (const [name, value] of Object.entries(given)) {
    const attribute = named(name);
    if (attribute === undefined) continue;
    if (seen.has(attribute)) throw scimErrors.invalidSyntax(`${attribute.name} is there twice, in different case.`);
    seen.add(attribute);
    if (attribute.mutability === "readOnly") continue;
    const one = readValue(attribute, value, path === "" ? attribute.name : `${path}.${attribute.name}`);
    if (one !== undefined) read[attribute.name] = one;
  }
  return read;
}

/** Attributes of an extension that the client may write. */
export function readExtension(kind: ResourceKind, urn: string, value: unknown): Resource | undefined {
  const extension = extensionOf(kind, urn);
  if (extension === undefined || value === null || value === undefined) return undefined;
  if (!isObject(value)) throw wrong(extension.urn, "must be an object");
  const read = readMembers(value, (name) => attributeNamed(extension.attributes, name), extension.urn);
  return Object.keys(read).length === 0 ? undefined : read;
}

/**
 * The attributes of a resource that the client may write, under the names of the schemas; unknown and read-only ones
 * are ignored.
 * @throws {invalidValue} when a value is not one of its attribute
 */
export function readResource(kind: ResourceKind, given: Readonly<Record<string, unknown>>): Resource {
  const { schemas } = given;
  if (schemas !== undefined && !(Array.isArray(schemas) && schemas.every((urn) => typeof urn === "string")))
    throw wrong("schemas", "must be a list of URNs");
  const read = readMembers(given, (name) => coreAttribute(kind, name), "");
  for (const [name, value] of Object.entries(given)) {
    const extension = extensionOf(kind, name);
    const attributes = extension && readExtension(kind, name, value);
    if (extension !== undefined && attributes !== undefined) read[extension.urn] = attributes;
  }
  return read;
}

/** @throws {invalidValue} when a required attribute has no value */
export function demandRequired(kind: ResourceKind, resource: Resource): void {
  for (const { name, required } of kind.core.attributes)
    if (required && resource[name] === undefined) throw wrong(name, "is required");
}
