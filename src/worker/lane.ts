import type { Outbox, OutboxRow } from "../platform/db/index.ts";
import { createPoller } from "../platform/poller.ts";
import type { Poller, PollerDeps, PollerRun } from "../platform/poller.ts";
import type { TopicHandler } from "../platform/topics.ts";
import { handleTraced } from "../platform/tracing.ts";

/** Rows that one call of the handler completes. */
type Group = readonly [OutboxRow, ...OutboxRow[]];

/** Messages of one topic. A lane has its own places, so that slow receivers of one topic delay no other topic. */
export interface Lane {
  topic: string;
  poller: Poller;
  /** Extends the leases of all claimed rows. */
  extend(): Promise<void>;
}

/** How long a claimed row stays hidden; the lease is extended while the row waits or is handled. */
export const LEASE_MS = 30_000;
/** Wait before the next claim while every message fails: failing messages must not use up what other topics need. */
const FAILING_PAUSE_MS = 50;
/** How long all messages of a topic fail before a warning says so. */
const WARN_AFTER_MS = 30_000;
/** Rows claimed at once where a coalescing key may complete many of them. */
const COALESCED_BATCH = 1_000;

/** Settings of {@link createLane}. */
export interface LaneOptions extends PollerDeps {
  outbox: Outbox;
  topic: string;
  handler: TopicHandler;
  pollMs: number;
}

/** Creates the poller that claims and handles the messages of one topic. */
export function createLane({ outbox, topic, handler, pollMs, ...deps }: LaneOptions): Lane {
  const { log } = deps;
  const { concurrency, retry, retryTopic, coalescingKey } = handler;
  const handled = new Set<Group>();
  /** Claimed and waiting for a place. */
  let waiting: Group[] = [];
  let failuresInARow = 0;
  /** When the first of them was, by `performance.now`. */
  let failingSince = 0;
  /** Whether a warning told of them. */
  let isWarned = false;

  async function claim(run: PollerRun): Promise<boolean> {
    const free = concurrency - poller.inFlight();
    if (free <= 0 || beginWaiting(run, free)) return false;
    const limit = coalescingKey === undefined ? free : COALESCED_BATCH;
    const rows = await outbox.claimDue(limit, LEASE_MS, topic);
    waiting = groupRows(rows, coalescingKey);
    beginWaiting(run, free);
    return rows.length === limit;
  }

  /** Begins up to `free` groups; false when none was waiting. */
  function beginWaiting({ begin }: PollerRun, free: number): boolean {
    const groups = waiting.splice(0, free);
    for (const group of groups) begin(() => handleGroup(group));
    return groups.length > 0;
  }

  async function handleGroup(group: Group): Promise<void> {
    handled.add(group);
    const [row] = group;
    const ids = group.map(({ id }) => id);
    try {
      await handleTraced(`outbox ${topic}`, row.traceparent, () => handler.handle(row.payload, row));
      await outbox.complete(ids);
      countSuccess();
    } catch (error) {
      countFailure(row, error);
      await releaseFailed(row, ids, error);
    }
    handled.delete(group);
    if (failuresInARow >= concurrency) poller.pause(FAILING_PAUSE_MS);
  }

  function countSuccess(): void {
    if (isWarned) log.info({ topic, failures: failuresInARow }, "Messages of a topic are handled again");
    isWarned = false;
    failuresInARow = 0;
  }

  /** Warns once when all messages have failed for a while. */
  function countFailure(row: OutboxRow, error: unknown): void {
    const now = performance.now();
    if (failuresInARow === 0) failingSince = now;
    failuresInARow++;
    if (isWarned || failuresInARow < concurrency || now - failingSince < WARN_AFTER_MS) return;
    isWarned = true;
    log.warn(
      { topic, id: row.id, failures: failuresInARow, lastError: messageOf(error) },
      "All messages of a topic fail",
    );
  }

  function waitAfter({ attempts, createdAt }: OutboxRow): number {
    if (typeof retry === "function") return retry(attempts, deps.clock.now() - createdAt.getTime());
    return retry[Math.min(attempts, retry.length) - 1] ?? 1_000;
  }

  async function releaseFailed(row: OutboxRow, ids: readonly string[], error: unknown): Promise<void> {
    const waitMs = waitAfter(row);
    log.debug({ err: error, topic, id: row.id, attempts: row.attempts }, "A message failed and is retried");
    const message = messageOf(error);
    const dropped = await outbox.fail(ids, message, waitMs, retryTopic).catch((failure: unknown) => {
      log.debug({ err: failure, id: row.id }, "A failed message stays hidden until its lease ends");
      return 0;
    });
    if (dropped > 0)
      log.warn(
        { topic, count: dropped, id: row.id, attempts: row.attempts, lastError: message },
        "Dropped messages that expire before their next attempt",
      );
  }

  const poller = createPoller(deps, {
    name: `outbox:${topic}`,
    intervalMs: pollMs,
    backOff: { firstMs: 50, maxMs: pollMs },
    run: claim,
  });

  return {
    topic,
    poller,
    async extend() {
      const ids = [...handled, ...waiting].flatMap((group) => group.map(({ id }) => id));
      if (ids.length > 0) await outbox.extend(ids, LEASE_MS);
    },
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Groups rows by coalescing key; all of them were committed before the first is handled. */
function groupRows(rows: readonly OutboxRow[], coalescingKey: TopicHandler["coalescingKey"]): Group[] {
  const groups = new Map<string, [OutboxRow, ...OutboxRow[]]>();
  for (const row of rows) {
    const key = coalescingKey?.(row.payload) ?? row.id;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return [...groups.values()];
}
