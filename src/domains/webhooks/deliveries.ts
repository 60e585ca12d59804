import { dateOf } from "../../platform/clock.ts";
import { pagingBy } from "../../platform/cursors.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { CallerContext } from "../../platform/context.ts";
import { databaseTime } from "../../platform/db/time.ts";
import { newEventId } from "../../platform/outgoing/delivery.ts";
import { bodyOf, FIRST_ATTEMPTS, insertForWebhooks } from "../event-catalogue/index.ts";
import { deliveriesOf, deliveryOf, lockDelivery, reopenDelivery } from "./delivery-store.ts";
import type { DeliveryRow } from "./delivery-store.ts";
import type { WebhookDeps } from "./deps.ts";
import { webhookErrors } from "./errors.ts";
import { lockManageable } from "./power.ts";
import type { Registration } from "./registration.ts";
import { RETENTION_MS } from "./rules.ts";
import { keepWebhook } from "./store.ts";

/** A delivery with the request it sends. */
export interface DeliveryDetail extends DeliveryRow {
  request: { url: string; headers: Record<string, string>; body: string };
}

const unixSeconds = (time: string): string => String(Math.floor(new Date(time).getTime() / 1000));

/** Listing and repeating deliveries, and sending a test event (decisions 11.1, 11.4). */
export function createDeliveries(deps: WebhookDeps, registration: Pick<Registration, "read">) {
  const { database, clock, random, cursors } = deps;
  return {
    /**
     * Deliveries of a webhook, newest first.
     * @throws {not_found} when there is no such webhook
     */
    async list(
      context: CallerContext,
      webhookId: string,
      status: DeliveryRow["status"] | undefined,
      page: Page,
    ): Promise<Listed<DeliveryRow>> {
      const paging = pagingBy(cursors, ["deliveries", webhookId.toLowerCase(), status], page);
      await registration.read(context, webhookId);
      return deliveriesOf(database, webhookId, status, page, paging);
    },

    /**
     * One delivery of a webhook, with the request it sends; signatures are made for each attempt and not kept.
     * @throws {not_found} when there is no such webhook or delivery
     */
    async read(context: CallerContext, webhookId: string, deliveryId: string): Promise<DeliveryDetail> {
      await registration.read(context, webhookId);
      const found = await deliveryOf(database, webhookId, deliveryId);
      if (found === undefined) throw webhookErrors.deliveryNotFound();
      const { url, body, ...delivery } = found;
      const last = delivery.attempts.at(-1);
      const timestamp = last === undefined ? {} : { "webhook-timestamp": unixSeconds(last.at) };
      const headers = { "content-type": "application/json", "webhook-id": delivery.eventId, ...timestamp };
      return { ...delivery, request: { url, headers, body } };
    },

    /**
     * Repeats a settled delivery of the last 30 days, with the same `webhook-id`.
     * @throws {not_found} when there is no such webhook or delivery
     * @throws {conflict} when the webhook is disabled or the delivery is open
     */
    redeliver: (context: CallerContext, webhookId: string, deliveryId: string): Promise<DeliveryRow> =>
      context.transaction(async (tx) => {
        const webhook = await lockManageable(deps, tx, context.caller, webhookId);
        const delivery = await lockDelivery(tx, webhookId, deliveryId);
        const at = dateOf(clock);
        if (delivery === undefined || delivery.createdAt.getTime() < at.getTime() - RETENTION_MS)
          throw webhookErrors.deliveryNotFound();
        if (webhook.status === "disabled") throw webhookErrors.disabled();
        if (delivery.status === "pending") throw webhookErrors.open();
        const nextAttemptAt = await reopenDelivery(tx, deliveryId, databaseTime(clock));
        tx.wake(FIRST_ATTEMPTS);
        return { ...delivery, status: "pending", nextAttemptAt };
      }),

    /**
     * Sends `webhook.test`, whatever the webhook subscribes to. Returns the id of the delivery.
     * @throws {not_found} when there is no such webhook
     * @throws {conflict} when the webhook is disabled
     */
    test: (context: CallerContext, webhookId: string): Promise<string> =>
      context.transaction(async (tx) => {
        const webhook = await lockManageable(deps, tx, context.caller, webhookId, keepWebhook);
        if (webhook.status === "disabled") throw webhookErrors.disabled();
        const [at, deliveryId, id] = [dateOf(clock), random.uuid(), newEventId(random)];
        const type = "webhook.test";
        const data = { webhook_id: webhookId };
        const body = bodyOf({ type, timestamp: at, id, orgUuid: webhook.orgUuid, data });
        await insertForWebhooks(tx, { id, type, body, at }, [{ webhookId, deliveryId }], databaseTime(clock));
        tx.wake(FIRST_ATTEMPTS);
        return deliveryId;
      }),
  };
}
