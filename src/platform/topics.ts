import type { OutboxRow } from "./db/index.ts";

/** Handles the messages of one outbox topic. Handlers are idempotent: after a crash a message is handled again. */
export interface TopicHandler {
  /** Rejects when the message has to be retried. */
  handle(payload: Record<string, unknown>, row: OutboxRow): Promise<void>;
  /** Waits before the retries, milliseconds; the last repeats. */
  retry: readonly number[];
  /** Messages handled concurrently. */
  concurrency: number;
  /** Coalescing key: handling one message completes all claimed with the same key. Default: none. */
  coalescingKey?: (payload: Record<string, unknown>) => string;
}
