import { createRequire } from "node:module";
import type { History } from "@temporalio/common/lib/proto-utils.js";

/** A recorded workflow: its id and the history of each of its runs, oldest first, as JSON. */
export interface KeptWorkflow {
  workflowId: string;
  runs: unknown[];
}

interface MessageClass {
  toObject(
    message: unknown,
    options: { longs: StringConstructor; enums: StringConstructor; bytes: StringConstructor },
  ): unknown;
  fromObject(plain: unknown): History;
}

// The SDK's own messages. Its `historyToJSON` fails where several copies of protobufjs are installed, as they are here.
const { temporal } = createRequire(createRequire(import.meta.url).resolve("@temporalio/client"))(
  "@temporalio/proto",
) as { temporal: { api: { history: { v1: { History: MessageClass } } } } };
const { History: messages } = temporal.api.history.v1;

/**
 * Who worked: of no account at replay, and it would name the machine of the recording. `sdkMetadata` stays: it says
 * what is checked.
 */
const dropped: ReadonlySet<string> = new Set(["identity", "workerVersion", "meteringMetadata", "binaryChecksum"]);
const stickyQueue = /"\d+@[\w.-]+"/gu;

/** A history as JSON, one event a line. */
export function printHistory(history: History): string {
  const plain = messages.toObject(history, { longs: String, enums: String, bytes: String });
  const { events } = JSON.parse(JSON.stringify(plain), (key, value: unknown) =>
    dropped.has(key) ? undefined : value,
  ) as { events: unknown[] };
  const lines = events.map((event) => JSON.stringify(event).replaceAll(stickyQueue, '"worker"'));
  return `{"events":[\n${lines.join(",\n")}\n]}`;
}

/** Parses a history from JSON. */
export function readHistory(plain: unknown): History {
  return messages.fromObject(plain);
}
