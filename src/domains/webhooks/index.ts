import { dateOf } from "../../platform/clock.ts";
import { createRetryActivities } from "./activities.ts";
import { createAnnounce } from "./announce.ts";
import { createAttempt } from "./attempt.ts";
import { createDeliveries } from "./deliveries.ts";
import type { WebhookDeps } from "./deps.ts";
import { createPump } from "./pump.ts";
import { purgeEvents } from "./queue-store.ts";
import { createRegistration } from "./registration.ts";
import { KEPT_MS } from "./rules.ts";

export type { WebhookDeps } from "./deps.ts";
export { webhookEntities } from "./entities.ts";
export { WEBHOOK_RETRY } from "./events.ts";
export type { Announcement, WebhookEventType, WebhookRetry } from "./events.ts";
export { openDeliveries } from "./queue-store.ts";
export type { OpenEndpoint } from "./queue-store.ts";
export { webhookSecretRpc, webhooksRpc } from "./rpc.ts";

/** Outgoing webhooks: endpoints, what they are told, and how it gets there. */
export function createWebhooks(deps: WebhookDeps) {
  const announce = createAnnounce(deps);
  const registration = createRegistration(deps);
  const attempt = createAttempt(deps, announce);
  return {
    /** Tells whoever hears it, in the transaction in which it happened. */
    announce,
    registration,
    deliveries: createDeliveries(deps, registration),
    pump: createPump(deps, attempt),
    activities: createRetryActivities(deps, attempt),
    /** Removes events and deliveries older than 30 days. */
    tidy: (): Promise<number> => purgeEvents(deps.database, dateOf(deps.clock, -KEPT_MS)),
  };
}

/** Webhooks as the program sees them. */
export type Webhooks = ReturnType<typeof createWebhooks>;
