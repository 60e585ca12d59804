import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { acceptedNames } from "./json/names.ts";
import { Mismatch } from "./json/scalars.ts";
import { put, textReader } from "./text.ts";
import type { ReadText } from "./text.ts";
import type { Violation } from "./types.ts";

/** Fills a request from a query string (without `?`) and notes what does not fit. */
export type ReadQuery = (query: string, message: object, violations: Violation[]) => void;

interface Target {
  readonly fields: readonly DescField[];
  /** Proto names with dots between. */
  readonly path: string;
  readonly read: ReadText | undefined;
  readonly repeated: boolean;
}

/**
 * Compiles the query mapping of a request: every field that neither the path
 * nor the body carries (`taken`: proto paths). Names outside that are ignored.
 */
export function queryReader(desc: DescMessage, taken: ReadonlySet<string>, depth: number): ReadQuery {
  const fields = new Map<DescMessage, Map<string, DescField>>();
  const targets = new Map<string, Target>();
  for (const field of desc.fields) {
    const target = targetOf([field]);
    if (!taken.has(target.path)) for (const name of acceptedNames(field)) targets.set(name, target);
  }
  const find = (name: string): Target | undefined => {
    if (!name.includes(".")) return targets.get(name);
    const steps = name.split(".");
    if (steps.length > depth) return undefined;
    const way: DescField[] = [];
    let parent: DescMessage | undefined = desc;
    let path = "";
    for (const step of steps) {
      if (parent === undefined) return undefined;
      const field = fieldsOf(parent, fields).get(step);
      if (field === undefined) return undefined;
      path = path === "" ? field.name : `${path}.${field.name}`;
      if (taken.has(path)) return undefined;
      way.push(field);
      parent = field.fieldKind === "message" ? field.message : undefined;
    }
    return targetOf(way);
  };
  return (query, message, violations) => {
    const seen = new Set<string>();
    for (const pair of query.split("&")) {
      const equals = pair.indexOf("=");
      if (equals <= 0) continue;
      const name = decoded(pair.slice(0, equals));
      // An empty value is an absent one, but an empty cursor starts paging by cursor (decisions 15.7).
      if (equals === pair.length - 1 && name !== "cursor") continue;
      const target = name === undefined ? undefined : find(name);
      if (target?.read !== undefined) take(target, decoded(pair.slice(equals + 1)), message, seen, violations);
    }
  };
}

function take(
  target: Target,
  text: string | undefined,
  message: object,
  seen: Set<string>,
  violations: Violation[],
): void {
  const note = (code: string, what: string): void => {
    violations.push({ field: target.path, code, message: what });
  };
  if (text === undefined || text.includes("\0")) return note("format", "is not percent-encoded UTF-8 without NUL");
  if (!target.repeated) {
    if (seen.has(target.path)) return note("repeated", "must not be given twice");
    seen.add(target.path);
  }
  const value = target.read?.(text);
  if (value instanceof Mismatch) return note(value.code, value.message);
  if (!put(message, target.fields, value, false)) note("oneof", "excludes another parameter that is given");
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.includes("+") ? text.replaceAll("+", " ") : text);
  } catch {
    return undefined;
  }
}

function targetOf(fields: readonly DescField[]): Target {
  const last = fields[fields.length - 1] as DescField;
  return {
    fields,
    path: fields.map((f) => f.name).join("."),
    read: textReader(last),
    repeated: last.fieldKind === "list",
  };
}

function fieldsOf(desc: DescMessage, known: Map<DescMessage, Map<string, DescField>>): Map<string, DescField> {
  let fields = known.get(desc);
  if (fields === undefined) {
    fields = new Map(desc.fields.flatMap((field) => acceptedNames(field).map((name) => [name, field] as const)));
    known.set(desc, fields);
  }
  return fields;
}
