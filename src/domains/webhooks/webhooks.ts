import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Poller } from "../../platform/poller.ts";
import { endWebhooksOf, lockWebhooksForEnd, wakeRetries } from "../event-catalogue/index.ts";
import { createRetryActivities } from "./activities.ts";
import { createAttempt } from "./attempt.ts";
import { createCleanup } from "./cleanup.ts";
import { purgeEnded, purgeEvents, purgeTallies } from "./cleanup-store.ts";
import { createDeliveries } from "./deliveries.ts";
import type { WebhookDeps } from "./deps.ts";
import { createFirstAttempts } from "./first-attempts.ts";
import type { FirstAttempts } from "./first-attempts.ts";
import { retriedEndpoints } from "./queue-store.ts";
import { createRegistration } from "./registration.ts";
import { RETENTION_MS } from "./rules.ts";
import { createStats } from "./stats.ts";
import { createWatch } from "./watch.ts";
import { purgeChanges } from "./watch-store.ts";

/** Noted changes that are deleted at once. */
const CHANGES = 2_000;

/** Outgoing webhooks: their registration, and the delivery of events to them. */
export function createWebhooks(deps: WebhookDeps) {
  const registration = createRegistration(deps);
  const background = { ...deps, database: deps.database.background };
  const attempt = createAttempt(background);
  const firstAttempts: FirstAttempts = createFirstAttempts(background, attempt);
  const pollers: readonly Poller[] = [firstAttempts, createCleanup(background)];

  /**
   * Deletes a batch of events, deliveries and tallies older than 30 days, marks webhooks that ended as long ago, and
   * deletes noted changes.
   */
  async function tidy(): Promise<number> {
    const before = dateOf(deps.clock, -RETENTION_MS);
    const changes = await purgeChanges(background.database, CHANGES);
    const tallies = await purgeTallies(background.database, before);
    const events = await purgeEvents(background.database, before);
    return changes + tallies + events + (await purgeEnded(background.database, before));
  }

  return {
    registration,
    deliveries: createDeliveries(deps, registration),
    statistics: createStats(deps, registration),
    ...createWatch(deps, registration),
    /** Locks for `organizationEnds` in a transaction that sends events to these webhooks first. */
    lockForEnd: lockWebhooksForEnd,
    /** Ends every webhook of an organization; none receives another event. */
    async organizationEnds(tx: Tx, orgUuid: string): Promise<void> {
      const { retrying } = await endWebhooksOf(tx, orgUuid, "organization.deleted", dateOf(deps.clock));
      for (const webhookId of retrying) await wakeRetries(tx, webhookId);
    },
    firstAttempts,
    pollers,
    activities: createRetryActivities(background, attempt),
    /** Ids of endpoints with open retries, in order: each has a workflow. */
    waiting: (after: string | null, limit: number) => retriedEndpoints(background.database, after, limit),
    tidy: { webhookEvents: tidy },
  };
}

/** Webhooks as domains above it and the program use them. */
export type Webhooks = ReturnType<typeof createWebhooks>;
