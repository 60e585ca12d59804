import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { databaseTime } from "../../platform/db/time.ts";
import { newEventId } from "../../platform/outgoing/delivery.ts";
import type { WebhookDeps } from "./deps.ts";
import type { Announcement } from "./events.ts";
import { wake } from "./failing.ts";
import { bodyOf } from "./rules.ts";
import * as store from "./store.ts";

/**
 * Tells the webhooks what happened, in the transaction in which it happened. An organization's end ends its webhooks:
 * they hear of that, once, and of nothing that was open before or happens after (decisions 2.4, 11.1).
 */
export function createAnnounce({ clock, random, nudge }: Pick<WebhookDeps, "clock" | "random" | "nudge">) {
  async function farewell(
    tx: Tx,
    orgUuid: string,
    event: { id: string; type: string; body: string; at: Date },
  ): Promise<void> {
    const { hearing, retrying } = await store.endWebhooksOf(tx, orgUuid, event.type, event.at);
    for (const webhookId of retrying) await wake(tx, webhookId);
    if (hearing.length === 0) return;
    const deliveries = hearing.map((webhookId) => ({ webhookId, deliveryId: random.uuid() }));
    await store.insertAtOnce(tx, event, deliveries, databaseTime(clock));
    tx.afterCommit(nudge);
  }

  return async function announce(tx: Tx, { type, orgUuid, appId, data }: Announcement): Promise<void> {
    const at = dateOf(clock);
    const id = newEventId(random);
    const event = { id, type, body: bodyOf({ type, timestamp: at, id, orgUuid, data }), at };
    if (type === "organization.deleted") return farewell(tx, orgUuid, event);
    const listeners = await store.keepListeners(tx, type, orgUuid, appId);
    if (listeners.length === 0) return;
    await store.insertForListeners(tx, event, listeners, databaseTime(clock));
    tx.afterCommit(nudge);
  };
}
