import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Poller } from "../../platform/poller.ts";
import { createRetryActivities } from "./activities.ts";
import { endWebhooksOf, wakeRetries } from "../event-catalogue/index.ts";
import { createAttempt } from "./attempt.ts";
import { createDeliveries } from "./deliveries.ts";
import type { WebhookDeps } from "./deps.ts";
import { createCleanup } from "./cleanup.ts";
import { purgeEnded, purgeEvents } from "./cleanup-store.ts";
import { createFirstAttempts } from "./first-attempts.ts";
import type { FirstAttempts } from "./first-attempts.ts";
import { retriedEndpoints } from "./queue-store.ts";
import { createRegistration } from "./registration.ts";
import { KEPT_MS } from "./rules.ts";

export type { WebhookDeps } from "./deps.ts";
export type { FirstAttempts } from "./first-attempts.ts";
export { webhookEntities } from "./entities.ts";
export { openDeliveries } from "./queue-store.ts";
export type { OpenEndpoint } from "./queue-store.ts";
export { webhookSecretRpc, webhooksRpc } from "./rpc.ts";

/** Outgoing webhooks: endpoints, what they are told, and how it gets there. */
export function createWebhooks(deps: WebhookDeps) {
  const registration = createRegistration(deps);
  const behind = { ...deps, database: deps.database.background };
  const attempt = createAttempt(behind);
  const firstAttempts: FirstAttempts = createFirstAttempts(behind, attempt);
  const pollers: readonly Poller[] = [firstAttempts, createCleanup(behind)];
  /**
   * Removes a batch of events and deliveries older than 30 days, and lets webhooks that ended as long ago be deleted.
   */
  async function tidy(): Promise<number> {
    const before = dateOf(deps.clock, -KEPT_MS);
    return (await purgeEvents(behind.database, before)) + (await purgeEnded(behind.database, before));
  }
  return {
    /** Ends every webhook of an organization, which hears of nothing any more. */
    async organizationEnds(tx: Tx, orgUuid: string): Promise<void> {
      const { retrying } = await endWebhooksOf(tx, orgUuid, "organization.deleted", dateOf(deps.clock));
      for (const webhookId of retrying) await wakeRetries(tx, webhookId);
    },
    registration,
    deliveries: createDeliveries(deps, registration),
    firstAttempts,
    pollers,
    activities: createRetryActivities(behind, attempt),
    /** Endpoints, by id, that a retry is open for: each has a workflow. */
    waiting: (after: string | null, limit: number) => retriedEndpoints(behind.database, after, limit),
    tidy: { webhookEvents: tidy },
  };
}

/** Webhooks as the program sees them. */
export type Webhooks = ReturnType<typeof createWebhooks>;
