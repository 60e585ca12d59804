import { MAX_EXPIRED_BATCH } from "../platform/db/index.ts";
import type { ExpiredRow, Outbox } from "../platform/db/index.ts";
import { createPoller } from "../platform/poller.ts";
import type { Poller, PollerDeps } from "../platform/poller.ts";
import type { TopicHandler } from "../platform/topics.ts";
import { createLane, LEASE_MS } from "./lane.ts";

/** Settings of {@link createDispatcher}. */
export interface DispatcherOptions extends PollerDeps {
  outbox: Outbox;
  /** Handlers by topic. Messages of other topics stay in the outbox. */
  topics: Readonly<Record<string, TopicHandler>>;
  /** Wait between claims without a nudge; default 1,000 ms. */
  pollMs?: number;
}

/** Claims outbox messages and passes them to the handlers of their topics. */
export interface Dispatcher {
  pollers: readonly Poller[];
  /** Requests a claim now, because a message was committed. */
  nudge(): void;
  /** Number of messages being handled, by topic. */
  inFlight(): Record<string, number>;
}

/** Creates the dispatcher: one poller for each topic, and one that extends leases and drops expired messages. */
export function createDispatcher({ outbox, topics, pollMs = 1_000, ...deps }: DispatcherOptions): Dispatcher {
  const { log } = deps;
  const lanes = Object.entries(topics).map(([topic, handler]) =>
    createLane({ ...deps, outbox, topic, handler, pollMs }),
  );

  /** True when more messages may have expired. */
  async function extendAndExpire(): Promise<boolean> {
    for (const lane of lanes) await lane.extend();
    const dropped = await outbox.dropExpired();
    logExpired(dropped);
    return dropped.length === MAX_EXPIRED_BATCH;
  }

  /** Logs one line for each topic, whatever the number of messages. */
  function logExpired(dropped: readonly ExpiredRow[]): void {
    for (const [topic, rows] of Map.groupBy(dropped, (row) => row.topic)) {
      const { id, attempts, lastError } = rows[0] ?? {};
      log.warn({ topic, count: rows.length, id, attempts, lastError }, "Dropped messages that expired unhandled");
    }
  }

  const upkeep = createPoller(deps, {
    name: "outbox-upkeep",
    intervalMs: LEASE_MS / 3,
    firstRunMs: LEASE_MS / 3,
    backOff: { firstMs: 1_000, maxMs: LEASE_MS / 3 },
    run: extendAndExpire,
  });

  return {
    pollers: [...lanes.map(({ poller }) => poller), upkeep],
    nudge: () => lanes.forEach(({ poller }) => poller.nudge()),
    inFlight: () => Object.fromEntries(lanes.map(({ topic, poller }) => [topic, poller.inFlight()])),
  };
}
