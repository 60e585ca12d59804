import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { formatPath } from "../transcoding/index.ts";

/**
 * Returns the reason to refuse a message, as a sentence; undefined when it is valid. `root` is the nesting level of the
 * message: 1, or 0 where a field of it was the whole JSON body, and so level 1.
 */
export type FormCheck = (message: Message, root: 0 | 1) => string | undefined;

/** Why a value is refused. */
interface Fault {
  readonly sentence: string;
  /** Names and indices from the value outwards. */
  readonly steps: (string | number)[];
}

/** Checks one value; `level` is the nesting level of its container, 1 for the root. */
type Check = (value: unknown, level: number) => Fault | undefined;

/** Maximum nesting of a message in its JSON form (decisions 15.4). */
const MAX_DEPTH = 32;

/** Characters of the path in a sentence; keys of maps and JSON objects may be long. */
const MAX_PATH_LENGTH = 200;

const nul = "A text holds a NUL character.";
const tooDeep = `The message is nested deeper than ${MAX_DEPTH} levels.`;
const noNumber = "A number of a JSON value is not finite.";
const nothing = "A JSON value is neither null nor anything else.";

const fault = (sentence: string): Fault => ({ sentence, steps: [] });

/**
 * Compiles the checks that hold for every protocol (decisions 1.8, 15.4): no NUL in a text, and `Value` fields that are
 * valid JSON within the maximum nesting. The binary form can violate them; the JSON parsers refuse such input earlier.
 * @returns undefined when no message of this type can violate them.
 */
export function compileForm(desc: DescMessage): FormCheck | undefined {
  const check = ofMessage(desc, new Map());
  return (
    check &&
    ((message, root) => {
      const found = check(message, root);
      if (found === undefined) return undefined;
      const path = formatPath(found.steps.toReversed());
      return path === "" ? found.sentence : `${path.slice(0, MAX_PATH_LENGTH)}: ${found.sentence}`;
    })
  );
}

function ofMessage(desc: DescMessage, under: Map<DescMessage, { check: Check | undefined }>): Check | undefined {
  const ofJson = jsonTypes.get(desc.typeName);
  if (ofJson !== undefined) return ofJson;
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
    if (level > MAX_DEPTH) return fault(tooDeep);
    for (const { field, check } of fields) {
      const held = read(value as Record<string, unknown>, field);
      const found = held === undefined ? undefined : check(held, level);
      if (found !== undefined) return within(found, field.name);
    }
    return undefined;
  });
}

const jsonTypes: ReadonlyMap<string, Check> = new Map([
  ["google.protobuf.Struct", ofPlain],
  ["google.protobuf.Value", ofValue],
  ["google.protobuf.ListValue", ofList],
]);

function ofField(field: DescField, under: Map<DescMessage, { check: Check | undefined }>): Check | undefined {
  const single =
    field.message === undefined
      ? field.scalar === ScalarType.STRING
        ? ofText
        : undefined
      : ofMessage(field.message, under);
  const one: Check | undefined =
    field.message === undefined || single === undefined || jsonTypes.has(field.message.typeName)
      ? single
      : (value, level) => single(value, level + 1);
  if (field.fieldKind === "list")
    return one === undefined ? undefined : (value, level) => firstFault(value as unknown[], one, level + 1);
  if (field.fieldKind !== "map") return one;
  return (value, level) =>
    faultOfKeys(value as object) ?? (one === undefined ? undefined : faultOfValues(value as object, one, level + 1));
}

function within(found: Fault, step: string | number): Fault {
  found.steps.push(step);
  return found;
}

function read(message: Record<string, unknown>, { localName, oneof }: DescField): unknown {
  if (oneof === undefined) return message[localName];
  const chosen = message[oneof.localName] as { case?: string; value?: unknown } | undefined;
  return chosen?.case === localName ? chosen.value : undefined;
}

function firstFault(values: readonly unknown[], check: Check, level: number): Fault | undefined {
  for (let at = 0; at < values.length; at++) {
    const found = check(values[at], level);
    if (found !== undefined) return within(found, at);
  }
  return undefined;
}

/** The fault of a key; the path names the object that has it. */
function faultOfKeys(object: object): Fault | undefined {
  for (const key of Object.keys(object)) if (key.includes("\0")) return fault(nul);
  return undefined;
}

function faultOfValues(object: object, check: Check, level: number): Fault | undefined {
  for (const [key, value] of Object.entries(object)) {
    const found = check(value, level);
    if (found !== undefined) return within(found, key);
  }
  return undefined;
}

const ofText: Check = (value) => ((value as string).includes("\0") ? fault(nul) : undefined);

/** A StringValue is a plain string as a field of a message, and a message elsewhere. */
const ofWrapped: Check = (value, level) =>
  ofText(typeof value === "string" ? value : (value as { value: string }).value, level);

/** A value of JSON; the library has a Struct in a field as a plain object, whose members may have any names. */
function ofPlain(value: unknown, level: number): Fault | undefined {
  if (typeof value === "string") return ofText(value, level);
  if (typeof value === "number") return Number.isFinite(value) ? undefined : fault(noNumber);
  if (typeof value !== "object" || value === null) return undefined;
  if (level >= MAX_DEPTH) return fault(tooDeep);
  if (Array.isArray(value)) return firstFault(value, ofPlain, level + 1);
  return faultOfKeys(value) ?? faultOfValues(value, ofPlain, level + 1);
}

/** A message google.protobuf.Value. */
function ofValue(message: unknown, level: number): Fault | undefined {
  const { kind } = message as { kind: { case?: string; value?: unknown } };
  switch (kind.case) {
    case undefined:
      return fault(nothing);
    case "structValue":
      return ofStruct(kind.value, level);
    case "listValue":
      return ofList(kind.value, level);
    default:
      return ofPlain(kind.value, level);
  }
}

/** A message google.protobuf.Struct, as a Value has it. */
function ofStruct(message: unknown, level: number): Fault | undefined {
  const { fields } = message as { fields: object };
  return level >= MAX_DEPTH ? fault(tooDeep) : (faultOfKeys(fields) ?? faultOfValues(fields, ofValue, level + 1));
}

/** A message google.protobuf.ListValue. */
function ofList(message: unknown, level: number): Fault | undefined {
  const { values } = message as { values: unknown[] };
  return level >= MAX_DEPTH ? fault(tooDeep) : firstFault(values, ofValue, level + 1);
}
