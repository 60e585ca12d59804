import { databaseTime } from "../../platform/db/time.ts";
import { createPoller } from "../../platform/poller.ts";
import type { Poller, PollerRun } from "../../platform/poller.ts";
import type { Attempt } from "./attempt.ts";
import type { WebhookDeps } from "./deps.ts";
import { createPace } from "./pace.ts";
import { takeFirst } from "./places-store.ts";
import type { TakenDelivery } from "./places-store.ts";
import { ATTEMPT_SLACK_MS, POLL_MS } from "./rules.ts";

/**
 * Wait between a run that has leased deliveries and the next run: half the duration of the lease, at most 2 ms, so that
 * one statement serves places that become free meanwhile. A longer wait leaves places of a quick endpoint unused.
 */
const GATHER = { factor: 0.5, maxMs: 2 };

/** Poller of first attempts. */
export interface FirstAttempts extends Poller {
  /** Places in use: by posts just sent, and by posts whose endpoint has been silent. */
  places(): { active: number; silent: number };
}

/** Creates the poller that makes the first attempt of every delivery; `inFlight` counts deliveries. */
export function createFirstAttempts(
  { database, clock, config, ...deps }: Pick<WebhookDeps, "database" | "clock" | "random" | "log" | "config">,
  { attempt }: Attempt,
): FirstAttempts {
  const pace = createPace();
  const leaseMs = config.timeoutMs + ATTEMPT_SLACK_MS;
  /** Deliveries that this process has leased. */
  let leased = 0;
  /** Where the walk over the endpoints continues; null at its start. */
  let position: string | null = null;

  /** Walks over the endpoints until the end or until no place is free; true when the walk has to be repeated. */
  async function takeDue({ signal, begin }: PollerRun): Promise<boolean> {
    const isContinued = position !== null;
    do {
      const { active, silent } = pace.counts();
      const shares = pace.shares(poller.inFlight() - active - silent);
      if (shares.free.active <= 0 || shares.free.quick <= 0) return false;
      const beganAt = performance.now();
      const { taken, next } = await takeFirst(database, databaseTime(clock), leaseMs, position, shares, leased);
      leased += taken.length;
      for (const delivery of taken) begin(() => post(delivery));
      const tookMs = performance.now() - beganAt;
      if (taken.length > 0) poller.pause(Math.min(GATHER.factor * tookMs, GATHER.maxMs));
      position = next;
    } while (position !== null && !signal.aborted);
    // What became due meanwhile at the endpoints before the position has not been seen.
    return isContinued;
  }

  async function post(delivery: TakenDelivery): Promise<void> {
    const place = pace.begin({ webhookId: delivery.webhookId, orgUuid: delivery.orgUuid, host: delivery.host });
    const isSuccess = await attempt(delivery, (ok) => {
      // The place is free before the outcome is stored.
      pace.end(place, ok);
      poller.nudge();
    });
    pace.end(place, isSuccess);
  }

  const poller = createPoller(
    { clock, ...deps },
    { name: "webhook-first-attempts", intervalMs: POLL_MS, backOff: { firstMs: 50, maxMs: POLL_MS }, run: takeDue },
  );
  return { ...poller, places: pace.counts };
}
