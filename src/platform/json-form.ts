import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";

/**
 * Returns the reason to refuse a message, as a sentence; undefined when it is valid. `root` is the nesting level of the
 * message: 1, or 0 where a field of it was the whole JSON body, and so level 1.
 */
export type FormCheck = (message: Message, root: 0 | 1) => string | undefined;

/** Checks one value; `level` is the nesting level of its container, 1 for the root. */
type Check = (value: unknown, level: number) => string | undefined;

/** Maximum nesting of a message in its JSON form (decisions 15.4). */
const MAX_DEPTH = 32;

const nul = "A text holds a NUL character.";
const tooDeep = `The message is nested deeper than ${MAX_DEPTH} levels.`;
const noNumber = "A number of a JSON value is not finite.";
const nothing = "A JSON value is neither null nor anything else.";

/**
 * Compiles the checks that hold for every protocol (decisions 1.8, 15.4): no NUL in a text, and `Value` fields that are
 * valid JSON within the maximum nesting. The binary form can violate them; the JSON parsers refuse such input earlier.
 * @returns undefined when no message of this type can violate them.
 */
export function compileForm(desc: DescMessage): FormCheck | undefined {
  return ofMessage(desc, new Map());
}

function ofMessage(desc: DescMessage, under: Map<DescMessage, { check: Check | undefined }>): Check | undefined {
  if (jsonTypes.has(desc.typeName)) return ofJson;
  if (desc.typeName === "google.protobuf.StringValue") return ofWrapped;
  if (desc.typeName.startsWith("google.protobuf.")) return undefined;
  const known = under.get(desc);
  // A recursive message type looks up its own check when it is called, after compilation.
  if (known !== undefined) return (value, level) => known.check?.(value, level);
  const slot: { check: Check | undefined } = { check: undefined };
  under.set(desc, slot);
  const fields = desc.fields.flatMap((field) => {
    const check = ofField(field, under);
    return check === undefined ? [] : [{ field, check }];
  });
  if (fields.length === 0) return undefined;
  return (slot.check = (value, level) => {
    if (level > MAX_DEPTH) return tooDeep;
    for (const { field, check } of fields) {
      const held = read(value as Record<string, unknown>, field);
      const fault = held === undefined ? undefined : check(held, level);
      if (fault !== undefined) return fault;
    }
    return undefined;
  });
}

const jsonTypes: ReadonlySet<string> = new Set([
  "google.protobuf.Struct",
  "google.protobuf.Value",
  "google.protobuf.ListValue",
]);

function ofField(field: DescField, under: Map<DescMessage, { check: Check | undefined }>): Check | undefined {
  const single =
    field.message === undefined
      ? field.scalar === ScalarType.STRING
        ? ofText
        : undefined
      : ofMessage(field.message, under);
  const one: Check | undefined =
    field.message === undefined || single === undefined || single === ofJson
      ? single
      : (value, level) => single(value, level + 1);
  if (field.fieldKind === "list")
    return one === undefined ? undefined : (value, level) => firstFault(value as unknown[], one, level + 1);
  if (field.fieldKind !== "map") return one;
  return (value, level) =>
    firstFault(Object.keys(value as object), ofText, level + 1) ??
    (one === undefined ? undefined : firstFault(Object.values(value as object), one, level + 1));
}

function read(message: Record<string, unknown>, { localName, oneof }: DescField): unknown {
  if (oneof === undefined) return message[localName];
  const chosen = message[oneof.localName] as { case?: string; value?: unknown } | undefined;
  return chosen?.case === localName ? chosen.value : undefined;
}

function firstFault(values: readonly unknown[], check: Check, level: number): string | undefined {
  for (const value of values) {
    const fault = check(value, level);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const ofText: Check = (value) => ((value as string).includes("\0") ? nul : undefined);

/** A StringValue is a plain string as a field of a message, and a message elsewhere. */
const ofWrapped: Check = (value, level) =>
  ofText(typeof value === "string" ? value : (value as { value: string }).value, level);

/** A JSON value: a plain object, or messages of google.protobuf.Struct, Value and ListValue. */
function ofJson(value: unknown, level: number): string | undefined {
  if (typeof value === "string") return ofText(value, level);
  if (typeof value === "number") return Number.isFinite(value) ? undefined : noNumber;
  if (typeof value !== "object" || value === null) return undefined;
  const {
    $typeName: type,
    kind,
    values,
    fields,
  } = value as { $typeName?: unknown; kind?: { case?: string; value?: unknown }; values?: unknown; fields?: unknown };
  if (type === "google.protobuf.Value") return kind?.case === undefined ? nothing : ofJson(kind.value, level);
  if (type === "google.protobuf.ListValue") return ofJson(values, level);
  if (type === "google.protobuf.Struct") return ofJson(fields, level);
  if (level >= MAX_DEPTH) return tooDeep;
  if (Array.isArray(value)) return firstFault(value, ofJson, level + 1);
  return firstFault(Object.keys(value), ofText, level) ?? firstFault(Object.values(value), ofJson, level + 1);
}
