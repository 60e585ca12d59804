import type { OutboxRow } from "./db/index.ts";

/** Handles the messages of one outbox topic. Handlers are idempotent: after a crash a message is handled again. */
export interface TopicHandler {
  /** Rejects when the message has to be retried. */
  handle(payload: Record<string, unknown>, row: OutboxRow): Promise<void>;
  /** Waits before the retries, milliseconds; the last repeats. Or a function of the attempts so far and the age. */
  retry: readonly number[] | ((attempts: number, ageMs: number) => number);
  /** Topic that a failed message moves to, so that it delays no new ones. Default: it stays. */
  retryTopic?: string;
  /** Messages handled concurrently. */
  concurrency: number;
  /** Coalescing key: handling one message completes all claimed with the same key. Default: none. */
  coalescingKey?: (payload: Record<string, unknown>) => string;
}
