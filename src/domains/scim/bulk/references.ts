import { isObject } from "../resource/values.ts";
import type { Json, Resource } from "../resource/values.ts";

const REFERENCE = /^bulkId:(.+)$/u;
/**
 * Whether the value of an attribute is the id of a resource, by its name or path: with the URN of a schema, a filter,
 * `.value`. In linear time, as no single expression is: the filter may contain what begins another path.
 */
function isReferring(name: string): boolean {
  const path = name.replace(/\.value$/iu, "");
  return path.endsWith("]") ? /(?:^|:)(?:members|manager)\[/iu.test(path) : /(?:^|:)(?:members|manager)$/iu.test(path);
}

/** Replaces a reference by what `idOf` returns for its bulkId. */
export function resolvedText(text: string, idOf: (bulkId: string) => string): string {
  const id = REFERENCE.exec(text)?.[1];
  return id === undefined ? text : idOf(id);
}

/**
 * Replaces the references in the data of an operation. They are ids of members and managers; other texts may begin like
 * one.
 */
export function resolvedMembers(value: Resource, idOf: (bulkId: string) => string): Resource {
  return membersOf(value, (name, member) =>
    name.toLowerCase() === "operations" && Array.isArray(member)
      ? member.map((operation: Json) => resolvedOperation(operation, idOf))
      : resolved(member, isReferring(name), idOf),
  );
}

/** The path of an operation of a PATCH says whether its value is a reference. */
function resolvedOperation(operation: Json, idOf: (bulkId: string) => string): Json {
  if (!isObject(operation)) return operation;
  const refers = typeof operation["path"] === "string" && isReferring(operation["path"]);
  return membersOf(operation, (name, member) => (name === "value" ? resolved(member, refers, idOf) : member));
}

function resolved(value: Json, refers: boolean, idOf: (bulkId: string) => string): Json {
  if (typeof value === "string") return refers ? resolvedText(value, idOf) : value;
  if (Array.isArray(value)) return value.map((item: Json) => resolved(item, refers, idOf));
  if (!isObject(value)) return value;
  return membersOf(value, (name, member) =>
    resolved(member, refers ? name.toLowerCase() === "value" : isReferring(name), idOf),
  );
}

function membersOf(value: Resource, change: (name: string, member: Json) => Json): Resource {
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(name, member)]));
}
