import { coreAttribute, resolvePath } from "../schema/index.ts";
import type { ResourceKind, Target } from "../schema/index.ts";
import { isObject } from "./values.ts";
import type { Json, Resource } from "./values.ts";

/** Which attributes to return (RFC 7644 §3.9). */
export interface Selection {
  readonly attributes: readonly Target[] | undefined;
  readonly excluded: readonly Target[];
}

/** Lists of names as a query has them, separated by commas, or as a body has them. */
export interface SelectionRequest {
  attributes?: string | readonly string[] | undefined;
  excludedAttributes?: string | readonly string[] | undefined;
}

function targets(kind: ResourceKind, list: string | readonly string[] | undefined): Target[] | undefined {
  const names = (typeof list === "string" ? list.split(",") : (list ?? [])).map((name) => name.trim()).filter(Boolean);
  return names.length === 0 ? undefined : names.flatMap((name) => resolvePath(kind, name) ?? []);
}

/** Reads a selection; names that no schema has are ignored. */
export function selectionOf(kind: ResourceKind, { attributes, excludedAttributes }: SelectionRequest): Selection {
  return { attributes: targets(kind, attributes), excluded: targets(kind, excludedAttributes) ?? [] };
}

/** Whether a selection asks for an attribute of the core schema. */
export function selects({ attributes, excluded }: Selection, name: string): boolean {
  const isWhole = ({ extension, attribute, sub }: Target) => !extension && attribute?.name === name && !sub;
  if (excluded.some(isWhole)) return false;
  return attributes === undefined || attributes.some((target) => !target.extension && target.attribute?.name === name);
}

function without(value: Json, sub: string): Json | undefined {
  if (Array.isArray(value)) return value.flatMap((one: Json) => without(one, sub) ?? []);
  if (!isObject(value)) return value;
  const rest = Object.fromEntries(Object.entries(value).filter(([name]) => name !== sub));
  return Object.keys(rest).length === 0 ? undefined : rest;
}

function only(value: Json, subs: ReadonlySet<string>): Json | undefined {
  if (Array.isArray(value)) return value.flatMap((one: Json) => only(one, subs) ?? []);
  if (!isObject(value)) return value;
  const kept = Object.fromEntries(Object.entries(value).filter(([name]) => subs.has(name)));
  return Object.keys(kept).length === 0 ? undefined : kept;
}

/** One attribute as a selection shows it; `of` are the targets that concern it. */
function shown(value: Json, attributes: readonly Target[] | undefined, excluded: readonly Target[]): Json | undefined {
  let kept: Json | undefined = value;
  if (attributes !== undefined && attributes.every(({ sub }) => sub !== undefined)) {
    if (attributes.length === 0) return undefined;
    kept = only(value, new Set(attributes.map(({ sub }) => sub?.name ?? "")));
  }
  if (excluded.some(({ sub }) => sub === undefined)) return undefined;
  for (const { sub } of excluded) kept = kept === undefined ? undefined : without(kept, sub?.name ?? "");
  return kept;
}

/** The attributes of a resource that a selection asks for. Those that are always returned stay. */
export function select(kind: ResourceKind, resource: Resource, { attributes, excluded }: Selection): Resource {
  if (attributes === undefined && excluded.length === 0) return resource;
  const result: Resource = {};
  const put = (into: Resource, name: string, extension: string | undefined, value: Json): void => {
    const concerns = (target: Target) => target.extension === extension && target.attribute?.name === name;
    const whole = extension !== undefined && attributes?.some((one) => one.extension === extension && !one.attribute);
    const kept = shown(value, whole === true ? undefined : attributes?.filter(concerns), excluded.filter(concerns));
    if (kept !== undefined) into[name] = kept;
  };
  for (const [name, value] of Object.entries(resource)) {
    if (coreAttribute(kind, name)?.returned === "always") result[name] = value;
    else if (!kind.extensions.some(({ urn }) => urn === name)) put(result, name, undefined, value);
    else if (!excluded.some((one) => one.extension === name && !one.attribute)) {
      const parts: Resource = {};
      for (const [part, held] of Object.entries(value as Resource)) put(parts, part, name, held);
      if (Object.keys(parts).length > 0) result[name] = parts;
    }
  }
  return result;
}
