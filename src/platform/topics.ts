import type { OutboxRow } from "./db/index.ts";

/** Handles the messages of one outbox topic. Handlers are idempotent: after a crash a message is handled again. */
export interface TopicHandler {
  /** Rejects when a retry makes sense. */
  handle(payload: Record<string, unknown>, row: OutboxRow): Promise<void>;
  /** Waits before the retries, milliseconds; the last repeats. */
  retry: readonly number[];
  /** Messages handled at once. */
  concurrency: number;
  /** Coalescing key: handling one message completes all claimed with the same key. Default: none. */
  same?: (payload: Record<string, unknown>) => string;
}
