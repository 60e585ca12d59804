import type { Caller } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Total } from "../../platform/db/counting.ts";
import { databaseTime } from "../../platform/db/time.ts";
import { newEventId } from "../../platform/outgoing/delivery.ts";
import { bodyOf, FIRST_ATTEMPTS, insertForWebhooks } from "../event-catalogue/index.ts";
import type { WebhookDeps } from "./deps.ts";
import { webhookErrors } from "./errors.ts";
import type { Registration } from "./registration.ts";
import { KEPT_MS } from "./rules.ts";
import * as list from "./delivery-store.ts";
import type { DeliveryRow } from "./delivery-store.ts";
import * as store from "./store.ts";
import type { Page } from "./store.ts";

/** Looking at deliveries, repeating one, sending a test (decisions 11.1, 11.4). */
export function createDeliveries(deps: WebhookDeps, registration: Registration) {
  const { database, clock, random } = deps;
  return {
    /** Deliveries of a webhook, newest first. Error: 404 not_found. */
    async list(
      caller: Caller,
      webhookId: string,
      status: DeliveryRow["status"] | undefined,
      page: Page,
    ): Promise<{ rows: DeliveryRow[] } & Total> {
      await registration.read(caller, webhookId);
      return list.deliveriesOf(database, webhookId, status, page);
    },

    /**
     * Sends a settled delivery of the last 30 days once more, under the same `webhook-id`. Errors: 404 not_found, 409
     * conflict.
     */
    redeliver: (caller: Caller, webhookId: string, deliveryId: string): Promise<DeliveryRow> =>
      database.transaction(async (tx) => {
        const webhook = await registration.own(tx, caller, webhookId);
        const delivery = await list.lockDelivery(tx, webhookId, deliveryId);
        const at = dateOf(clock);
        if (delivery === undefined || delivery.created_at.getTime() < at.getTime() - KEPT_MS)
          throw webhookErrors.deliveryNotFound();
        if (webhook.status === "disabled") throw webhookErrors.disabled();
        if (delivery.status === "pending") throw webhookErrors.open();
        const nextAt = await list.reopenDelivery(tx, deliveryId, databaseTime(clock));
        tx.wake(FIRST_ATTEMPTS);
        return { ...delivery, status: "pending", next_attempt_at: nextAt };
      }, caller),

    /** Sends `webhook.test`, whatever the webhook hears. Errors: 404 not_found, 409 conflict. */
    test: (caller: Caller, webhookId: string): Promise<string> =>
      database.transaction(async (tx) => {
        const webhook = await registration.own(tx, caller, webhookId, store.keepWebhook);
        if (webhook.status === "disabled") throw webhookErrors.disabled();
        const [at, deliveryId] = [dateOf(clock), random.uuid()];
        const id = newEventId(random);
        const body = bodyOf({
          type: "webhook.test",
          timestamp: at,
          id,
          orgUuid: webhook.orgUuid,
          data: { webhook_id: webhookId },
        });
        await insertForWebhooks(
          tx,
          { id, type: "webhook.test", body, at },
          [{ webhookId, deliveryId }],
          databaseTime(clock),
        );
        tx.wake(FIRST_ATTEMPTS);
        return deliveryId;
      }, caller),
  };
}
