import type { DescMessage, Message, Registry } from "@bufbuild/protobuf";
import { Refusal, invalid } from "../refusal.ts";
import { JsonError, readJson } from "./parse.ts";
import { ReadState, messageReader } from "./read.ts";

/** Bounds for {@link readMessage}. */
export interface MessageLimits {
  /** Levels of arrays and objects; the root is level 1. */
  readonly depth: number;
  /** Violations reported at most. */
  readonly violations: number;
  /** Types `google.protobuf.Any` may hold. */
  readonly registry?: Registry | undefined;
}

/**
 * Reads a message from JSON by the rules REST bodies are read by, for other
 * protocols that carry JSON.
 * @throws Refusal of kind `malformed_body` or `invalid_body`
 */
export function readMessage(desc: DescMessage, bytes: Uint8Array, limits: MessageLimits): Message {
  const state = new ReadState(limits.registry, limits.violations);
  let message: Message | undefined;
  try {
    message = messageReader(desc)(readJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), limits.depth), state);
  } catch (error) {
    if (error instanceof JsonError) throw new Refusal("malformed_body", error.message);
    throw error;
  }
  if (message === undefined || state.violations.length > 0) throw invalid("invalid_body", state.violations);
  return message;
}
