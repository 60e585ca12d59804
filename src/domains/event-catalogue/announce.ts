import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { databaseTime } from "../../platform/db/time.ts";
import { newEventId } from "../../platform/outgoing/delivery.ts";
import type { Random } from "../../platform/random.ts";
import { bodyOf } from "./body.ts";
import * as store from "./store.ts";
import { wakeRetries } from "./retries.ts";

/** The poller of first attempts, woken after a commit that stored deliveries. */
export const FIRST_ATTEMPTS = "webhook-first-attempts";

/** An event for webhooks. `data` carries the id of its resource. */
export interface Announcement {
  type: string;
  /** The organization it happened in; of an install, the buyer's. */
  orgUuid: string;
  /** The app, for `app.*` and `install.*`. */
  appId?: string | undefined;
  data: Readonly<Record<string, unknown>>;
}

/** Stores an event for the webhooks that subscribe to it, in the transaction in which it happens. */
export type Announce = (tx: Tx, event: Announcement) => Promise<void>;

/**
 * Stores events for webhooks. The end of an organization ends its webhooks: they receive that event once, and nothing
 * that was open before or happens after (decisions 2.4, 11.1).
 */
export function createAnnounce({ clock, random }: { clock: Clock; random: Pick<Random, "uuid"> }): Announce {
  async function endWebhooks(
    tx: Tx,
    orgUuid: string,
    event: { id: string; type: string; body: string; at: Date },
  ): Promise<void> {
    const { subscribed, retrying } = await store.endWebhooksOf(tx, orgUuid, event.type, event.at);
    for (const webhookId of retrying) await wakeRetries(tx, webhookId);
    if (subscribed.length === 0) return;
    const deliveries = subscribed.map((webhookId) => ({ webhookId, deliveryId: random.uuid() }));
    await store.insertForWebhooks(tx, event, deliveries, databaseTime(clock));
    tx.wake(FIRST_ATTEMPTS);
  }

  return async function announce(tx, { type, orgUuid, appId, data }) {
    const at = dateOf(clock);
    const id = newEventId(random);
    const event = { id, type, body: bodyOf({ type, timestamp: at, id, orgUuid, data }), at };
    if (type === "organization.deleted") return endWebhooks(tx, orgUuid, event);
    const subscribers = await store.keepSubscribers(tx, type, orgUuid, appId);
    if (subscribers.length === 0) return;
    await store.insertForSubscribers(tx, event, subscribers, databaseTime(clock));
    tx.wake(FIRST_ATTEMPTS);
  };
}
