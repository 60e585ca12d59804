import { create } from "@bufbuild/protobuf";
import type { DescField, DescMessage, Message, Registry } from "@bufbuild/protobuf";
import { Refusal, invalid } from "../refusal.ts";
import { fieldReader } from "./fields.ts";
import { acceptedNames, printedName } from "./names.ts";
import { JsonError, JsonObject, readJson } from "./parse.ts";
import type { JsonNode } from "./parse.ts";
import { messageReader } from "./read.ts";
import { ReadState } from "./read-state.ts";
import type { PresentList } from "../types.ts";

/** Bounds for {@link readMessage}. */
export interface MessageLimits {
  /** Levels of arrays and objects; the root is level 1. */
  readonly depth: number;
  /** Violations reported at most. */
  readonly violations: number;
  /** Types `google.protobuf.Any` may hold. */
  readonly registry?: Registry | undefined;
  /**
   * Lists of the whole message that must be there, though the message cannot tell an absent list from an empty one.
   */
  readonly present?: readonly PresentList[] | undefined;
  /** Lists of the whole message that may be absent but not empty, which the message cannot tell apart either. */
  readonly filled?: readonly DescField[] | undefined;
}

/**
 * Reads a message from JSON by the rules REST bodies are read by, for other
 * protocols that carry JSON.
 * @throws Refusal of kind `malformed_body` or `invalid_body`
 */
export function readMessage(desc: DescMessage, bytes: Uint8Array, limits: MessageLimits): Message {
  return guarded(limits, (state) => {
    const node = parsed(bytes, limits);
    for (const one of limits.present ?? []) demand(one, node, state);
    for (const field of limits.filled ?? []) demandItems(field, node, state);
    return messageReader(desc)(node, state);
  });
}

/**
 * Compiles the reading of a JSON value as one field of a message that is otherwise empty.
 * What it returns throws as {@link readMessage} does.
 */
export function fieldOnlyReader(
  desc: DescMessage,
  field: DescField,
  limits: MessageLimits,
): (bytes: Uint8Array) => Message {
  const read = fieldReader(field, messageReader);
  const step = printedName(field);
  return (bytes) =>
    guarded(limits, (state) => {
      const message = create(desc);
      state.path[0] = step;
      state.depth = 1;
      read(message, parsed(bytes, limits), state);
      return message;
    });
}

function demand({ list, emptyBy }: PresentList, node: JsonNode, state: ReadState): void {
  if (!(node instanceof JsonObject) || memberOf(node, list) !== null) return;
  if (emptyBy !== undefined && memberOf(node, emptyBy) === true) return;
  refuseMember(list, "required", "is required", state);
}

function demandItems(field: DescField, node: JsonNode, state: ReadState): void {
  if (!(node instanceof JsonObject)) return;
  const value = memberOf(node, field);
  if (Array.isArray(value) && value.length === 0) refuseMember(field, "too_few", "must have at least 1 item", state);
}

/** The member of a field under any of its names; null where there is none. */
function memberOf(node: JsonObject, field: DescField): JsonNode {
  const name = acceptedNames(field).find((one) => node.keys.includes(one));
  return name === undefined ? null : (node.values[node.keys.indexOf(name)] ?? null);
}

function refuseMember(field: DescField, code: string, message: string, state: ReadState): void {
  state.path[0] = printedName(field);
  state.depth = 1;
  state.addViolation(code, message);
  state.depth = 0;
}

function parsed(bytes: Uint8Array, limits: MessageLimits): JsonNode {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return readJson(buffer, limits.depth, "infinite");
}

function guarded(limits: MessageLimits, read: (state: ReadState) => Message | undefined): Message {
  const state = new ReadState(limits.registry, limits.violations);
  let message: Message | undefined;
  try {
    message = read(state);
  } catch (error) {
    if (error instanceof JsonError) throw new Refusal("malformed_body", error.message);
    throw error;
  }
  if (message === undefined || state.violations.length > 0) throw invalid("invalid_body", state.violations);
  return message;
}
