import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { getOption, hasOption, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { rules as rulesOption } from "../../gen/atrium/options/v1/options_pb.ts";
import type { Rules } from "../../gen/atrium/options/v1/options_pb.ts";
import type { PresentList } from "../transcoding/index.ts";
import type { FieldViolation } from "./errors.ts";
import { compileValue } from "./value-rules.ts";
import type { ValueCheck } from "./value-rules.ts";

/** Adds the violations in `message` to `found`; `prefix` is the path of the message, with its dot. */
type MessageCheck = (message: Message, prefix: string, found: FieldViolation[]) => void;
type FieldCheck = (message: Record<string, unknown>, prefix: string, found: FieldViolation[]) => void;

/** Validates a message by the `rules` of its fields; undefined when it is valid. */
export type Validator = (message: Message) => FieldViolation[] | undefined;

/** Violations reported of one message, as of a JSON body: gRPC has them in a trailer, whose size clients limit. */
const MAX_VIOLATIONS = 20;

const compiled = new WeakMap<DescMessage, { check: MessageCheck | undefined }>();

/**
 * Compiles the `rules` options of a message and of the messages in it, without the top-level fields in `except` (proto
 * names).
 * @returns undefined when there are no rules.
 */
export function compileValidator(desc: DescMessage, except?: ReadonlySet<string>): Validator | undefined {
  const check = except === undefined || except.size === 0 ? checkOf(desc) : compileMessage(desc, except);
  if (check === undefined) return undefined;
  return (message) => {
    const found: FieldViolation[] = [];
    check(message, "", found);
    return found.length === 0 ? undefined : found.slice(0, MAX_VIOLATIONS);
  };
}

/**
 * Compiles the rules of one scalar field for a value that is text, such as a path parameter.
 * @returns undefined when there are no rules.
 */
export function compileText(field: DescField): ValueCheck | undefined {
  if (field.fieldKind !== "scalar") return undefined;
  const rules = rulesOf(field);
  const check = rules === undefined ? undefined : compileValue(field, rules);
  if (field.scalar === ScalarType.STRING) return check;
  const range = ranges.get(field.scalar);
  if (range === undefined) return undefined;
  const [min, max] = range;
  return (value) => {
    const text = String(value);
    if (!/^-?(?:0|[1-9]\d{0,19})$/.test(text)) return { code: "type", message: "must be an integer" };
    const number = BigInt(text);
    if (number < min || number > max) return { code: "range", message: `must be from ${min} to ${max}` };
    return check?.(Number(number));
  };
}

const signed32 = [-(2n ** 31n), 2n ** 31n - 1n] as const;
const unsigned32 = [0n, 2n ** 32n - 1n] as const;
const signed64 = [-(2n ** 63n), 2n ** 63n - 1n] as const;
const unsigned64 = [0n, 2n ** 64n - 1n] as const;

/** The least and the greatest value of each integer type. */
const ranges: ReadonlyMap<ScalarType, readonly [min: bigint, max: bigint]> = new Map([
  [ScalarType.INT32, signed32],
  [ScalarType.SINT32, signed32],
  [ScalarType.SFIXED32, signed32],
  [ScalarType.UINT32, unsigned32],
  [ScalarType.FIXED32, unsigned32],
  [ScalarType.INT64, signed64],
  [ScalarType.SINT64, signed64],
  [ScalarType.SFIXED64, signed64],
  [ScalarType.UINT64, unsigned64],
  [ScalarType.FIXED64, unsigned64],
]);

const declared = new WeakMap<DescField, { rules: Rules | undefined }>();

/** The rules a field declares; they are decoded once. */
export function rulesOf(field: DescField): Rules | undefined {
  let known = declared.get(field);
  if (known === undefined) {
    known = { rules: hasOption(field, rulesOption) ? getOption(field, rulesOption) : undefined };
    declared.set(field, known);
  }
  return known.rules;
}

/** Returns the lists of a message that must be there, even if they are empty. */
export function presentLists({ fields }: DescMessage): PresentList[] {
  return fields
    .filter((field) => rulesOf(field)?.present === true)
    .map((list) => ({ list, emptyBy: fields.find(({ name }) => name === rulesOf(list)?.emptyBy) }));
}

/**
 * Compiles the check of the lists that must be there, for a message that was not JSON: there an empty list is one that
 * was left out, unless the message says that it is empty.
 * @returns undefined when there are no such lists.
 */
export function compilePresence(desc: DescMessage): Validator | undefined {
  const lists = presentLists(desc);
  if (lists.length === 0) return undefined;
  return (message) => {
    const values = message as unknown as Record<string, unknown>;
    const absent = lists.filter(
      ({ list, emptyBy }) =>
        (values[list.localName] as unknown[]).length === 0 && (emptyBy && values[emptyBy.localName]) !== true,
    );
    return absent.length === 0
      ? undefined
      : absent.map(({ list: { name }, emptyBy }) => ({
          field: name,
          code: "required",
          message: emptyBy === undefined ? "is required" : `is required, or ${emptyBy.name} where it is empty`,
        }));
  };
}

/**
 * Whether a list may be absent but not empty. In a PATCH, an absent list means no change (decisions 1.13).
 */
export function mustBeFilled(field: DescField): boolean {
  const rules = rulesOf(field);
  return field.fieldKind === "list" && rules !== undefined && rules.minItems > 0 && !rules.required;
}

function checkOf(desc: DescMessage): MessageCheck | undefined {
  let entry = compiled.get(desc);
  if (entry === undefined) {
    const slot: { check: MessageCheck | undefined } = { check: undefined };
    // A recursive message type finds this slot during its own compilation.
    slot.check = (message, prefix, found) => made?.(message, prefix, found);
    compiled.set(desc, slot);
    const made = compileMessage(desc, undefined);
    slot.check = made;
    entry = slot;
  }
  return entry.check;
}

function compileMessage(desc: DescMessage, except: ReadonlySet<string> | undefined): MessageCheck | undefined {
  if (desc.typeName.startsWith("google.protobuf.")) return undefined;
  const checks: FieldCheck[] = [];
  for (const field of desc.fields) {
    if (except?.has(field.name) === true) continue;
    const check = compileField(field);
    if (check !== undefined) checks.push(field.name === "offset" ? unlessByCursor(desc, check) : check);
  }
  for (const one of presentLists(desc)) checks.push(contradictionCheck(one));
  if (checks.length === 0) return undefined;
  return (message, prefix, found) => {
    for (const check of checks) check(message, prefix, found);
  };
}

/** Skips the check of `offset` in a request that pages by `cursor`: there it is ignored (decisions 17.6). */
function unlessByCursor({ fields }: DescMessage, check: FieldCheck): FieldCheck {
  const cursor = fields.find(({ name }) => name === "cursor");
  if (cursor === undefined) return check;
  return (message, prefix, found) => {
    if (message[cursor.localName] === undefined) check(message, prefix, found);
  };
}

/** Refuses a message that says that a list is empty beside its items. */
function contradictionCheck({ list, emptyBy }: PresentList): FieldCheck {
  return (message, prefix, found) => {
    if (emptyBy === undefined || message[emptyBy.localName] !== true) return;
    if ((message[list.localName] as unknown[]).length > 0)
      found.push({ field: prefix + emptyBy.name, code: "not_allowed", message: `is not allowed beside ${list.name}` });
  };
}

function compileField(field: DescField): FieldCheck | undefined {
  const rules = rulesOf(field);
  const inner = innerCheck(field, rules);
  if (rules === undefined && inner === undefined) return undefined;
  const read = reader(field);
  const absent = absence(field);
  const size = rules === undefined ? undefined : sizeCheck(field, rules);
  const required = rules?.required === true;
  const { name } = field;
  return (message, prefix, found) => {
    const value = read(message);
    if (absent(value)) {
      if (required) found.push({ field: prefix + name, code: "required", message: "is required" });
      return;
    }
    const fault = size?.(value);
    if (fault !== undefined) found.push({ field: prefix + name, ...fault });
    else inner?.(value, prefix + name, found);
  };
}

type InnerCheck = (value: unknown, path: string, found: FieldViolation[]) => void;

/** Checks of a value that is present: its own rules, each item, or the fields of a message. */
function innerCheck(field: DescField, rules: Rules | undefined): InnerCheck | undefined {
  const one = itemCheck(field, rules);
  if (one === undefined) return undefined;
  if (field.fieldKind === "list") {
    return (value, path, found) => {
      const items = value as unknown[];
      for (let at = 0; at < items.length && found.length < MAX_VIOLATIONS; at++)
        one(items[at], `${path}[${at}]`, found);
    };
  }
  if (field.fieldKind === "map") {
    return (value, path, found) => {
      for (const [key, item] of Object.entries(value as object)) {
        if (found.length >= MAX_VIOLATIONS) return;
        one(item, `${path}.${key}`, found);
      }
    };
  }
  return one;
}

function itemCheck(field: DescField, rules: Rules | undefined): InnerCheck | undefined {
  if (field.message !== undefined) {
    const check = checkOf(field.message);
    return check === undefined ? undefined : (value, path, found) => check(value as Message, `${path}.`, found);
  }
  const check = rules === undefined ? undefined : compileValue(field, rules);
  if (check === undefined) return undefined;
  return (value, path, found) => {
    const fault = check(value);
    if (fault !== undefined) found.push({ field: path, ...fault });
  };
}

function sizeCheck(field: DescField, rules: Rules): ValueCheck | undefined {
  const { minItems, maxItems, unique } = rules;
  if (field.fieldKind !== "list" && field.fieldKind !== "map") return undefined;
  if (minItems === 0 && maxItems === 0 && !unique) return undefined;
  return (value) => {
    const count = Array.isArray(value) ? value.length : Object.keys(value as object).length;
    if (count < minItems) return { code: "too_few", message: `must have at least ${minItems} items` };
    if (maxItems > 0 && count > maxItems) return { code: "too_many", message: `must have at most ${maxItems} items` };
    if (unique && Array.isArray(value) && new Set(value).size !== count)
      return { code: "duplicate", message: "must not repeat an item" };
    return undefined;
  };
}

function reader(field: DescField): (message: Record<string, unknown>) => unknown {
  const { localName, oneof } = field;
  if (oneof === undefined) return (message) => message[localName];
  const group = oneof.localName;
  return (message) => {
    const chosen = message[group] as { case?: string; value?: unknown } | undefined;
    return chosen?.case === localName ? chosen.value : undefined;
  };
}

/** A field without presence is absent when it has its zero value; a field with presence, when it is not set. */
function absence(field: DescField): (value: unknown) => boolean {
  if (field.fieldKind === "list") return (value) => (value as unknown[]).length === 0;
  if (field.fieldKind === "map") return (value) => Object.keys(value as object).length === 0;
  if (field.fieldKind === "message" || field.oneof !== undefined) return (value) => value === undefined;
  const required = rulesOf(field)?.required === true;
  // `required` also refuses empty values of fields with presence.
  if (field.presence !== FeatureSet_FieldPresence.IMPLICIT)
    return (value) => value === undefined || (required && (value === "" || isEmptyBytes(value)));
  return (value) => value === "" || value === 0 || value === false || value === 0n || isEmptyBytes(value);
}

function isEmptyBytes(value: unknown): boolean {
  return value instanceof Uint8Array && value.length === 0;
}
