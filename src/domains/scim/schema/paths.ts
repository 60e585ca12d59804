import type { Attribute, ResourceKind, Schema } from "./attribute.ts";
import { COMMON_ATTRIBUTES } from "./common.ts";

/** What a path names: an attribute, a part of one, or an extension as a whole. */
export interface Target {
  /** URN of the extension it belongs to; undefined for the core schema. */
  readonly extension: string | undefined;
  /** Undefined for an extension as a whole. */
  readonly attribute: Attribute | undefined;
  readonly sub: Attribute | undefined;
}

const folded = new WeakMap<readonly Attribute[], ReadonlyMap<string, Attribute>>();

/** The attribute of a name in any case (RFC 7643 §2.1). */
export function attributeNamed(attributes: readonly Attribute[], name: string): Attribute | undefined {
  let byName = folded.get(attributes);
  if (byName === undefined) {
    byName = new Map(attributes.map((attribute) => [attribute.name.toLowerCase(), attribute]));
    folded.set(attributes, byName);
  }
  return byName.get(name.toLowerCase());
}

/** The attribute of a resource's core schema, or one that every resource has. */
export function coreAttribute(kind: ResourceKind, name: string): Attribute | undefined {
  return attributeNamed(kind.core.attributes, name) ?? attributeNamed(COMMON_ATTRIBUTES, name);
}

/** The extension with a URN in any case. */
export function extensionOf(kind: ResourceKind, urn: string): Schema | undefined {
  const key = urn.toLowerCase();
  return kind.extensions.find((extension) => extension.urn.toLowerCase() === key);
}

/** The attribute of a name in a schema; without a schema, in the first that has it, the core schema before others. */
function ownedAttribute(kind: ResourceKind, schema: Schema | undefined, name: string): Omit<Target, "sub"> | undefined {
  for (const owner of schema === undefined ? [kind.core, ...kind.extensions] : [schema]) {
    const isCore = owner === kind.core;
    const attribute = isCore ? coreAttribute(kind, name) : attributeNamed(owner.attributes, name);
    if (attribute !== undefined) return { extension: isCore ? undefined : owner.urn, attribute };
  }
  return undefined;
}

/**
 * Resolves `[urn:]attribute[.sub]`, names in any case; undefined for what no schema has. The URN of an extension
 * belongs there (RFC 7644 §3.10), but Entra asks for `manager eq "…"`.
 */
export function resolvePath(kind: ResourceKind, path: string): Target | undefined {
  const whole = extensionOf(kind, path);
  if (whole !== undefined) return { extension: whole.urn, attribute: undefined, sub: undefined };
  const schema = [kind.core, ...kind.extensions].find(
    ({ urn }) => path[urn.length] === ":" && path.slice(0, urn.length).toLowerCase() === urn.toLowerCase(),
  );
  const [name = "", part, ...more] = (schema === undefined ? path : path.slice(schema.urn.length + 1)).split(".");
  const owned = ownedAttribute(kind, schema, name);
  if (owned === undefined || more.length > 0) return undefined;
  if (part === undefined) return { ...owned, sub: undefined };
  const sub = attributeNamed(owned.attribute?.subAttributes ?? [], part);
  return sub && { ...owned, sub };
}
