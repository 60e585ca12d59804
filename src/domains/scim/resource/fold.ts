import { attributeNamed, COMMON_ATTRIBUTES, coreAttribute } from "../schema/index.ts";
import type { Attribute, ResourceKind } from "../schema/index.ts";
import { foldText, isObject } from "./values.ts";
import type { Json, Resource } from "./values.ts";

function foldValue(attribute: Attribute | undefined, value: Json): Json {
  if (Array.isArray(value)) return value.map((one: Json) => foldValue(attribute, one));
  if (isObject(value)) return foldMembers(value, (name) => attributeNamed(attribute?.subAttributes ?? [], name));
  return typeof value === "string" && attribute?.caseExact === false ? foldText(value) : value;
}

function foldMembers(members: Resource, named: (name: string) => Attribute | undefined): Resource {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, foldValue(named(name), value)]));
}

/** The URNs of the schemas a resource has attributes of. */
export function schemasOf(kind: ResourceKind, resource: Resource): string[] {
  return [kind.core.urn, ...kind.extensions.filter(({ urn }) => resource[urn] !== undefined).map(({ urn }) => urn)];
}

/** A resource as filters compare it: folded where case does not count. */
export function foldResource(kind: ResourceKind, resource: Resource): Resource {
  const extensions = new Map(kind.extensions.map((extension) => [extension.urn, extension.attributes]));
  const folded = Object.entries(resource).map(([name, value]): [string, Json] => {
    const attributes = extensions.get(name);
    return attributes === undefined
      ? [name, foldValue(coreAttribute(kind, name) ?? attributeNamed(COMMON_ATTRIBUTES, name), value)]
      : [name, foldMembers(value as Resource, (part) => attributeNamed(attributes, part))];
  });
  return { ...Object.fromEntries(folded), schemas: schemasOf(kind, resource) };
}
