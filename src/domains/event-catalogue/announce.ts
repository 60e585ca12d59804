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

/** Events of one type for webhooks. */
export interface Announcement {
  type: string;
  /** The app, for `app.*` and `install.*`. */
  appId?: string | undefined;
  events: readonly {
    /** The organization it happened in; of an install, the buyer's. */
    orgUuid: string;
    /** It carries the id of the event's resource. */
    data: Readonly<Record<string, unknown>>;
  }[];
}

/** Stores events for the webhooks that subscribe to them, in the transaction in which they happen. */
export type Announce = (tx: Tx, event: Announcement) => Promise<void>;

/**
 * Stores events for webhooks. The end of an organization ends its webhooks: they receive that event once, and nothing
 * that was open before or happens after (decisions 2.4, 11.1).
 */
export function createAnnounce({ clock, random }: { clock: Clock; random: Pick<Random, "uuid"> }): Announce {
  async function endWebhooks(tx: Tx, orgUuid: string, event: store.StoredEvent): Promise<void> {
    const { subscribed, retrying } = await store.endWebhooksOf(tx, orgUuid, event.type, event.at);
    for (const webhookId of retrying) await wakeRetries(tx, webhookId);
    if (subscribed.length === 0) return;
    const deliveries = subscribed.map((webhookId) => ({ webhookId, deliveryId: random.uuid() }));
    await store.insertForWebhooks(tx, event, deliveries, databaseTime(clock));
    tx.wake(FIRST_ATTEMPTS);
  }

  return async function announce(tx, { type, appId, events: happened }) {
    const at = dateOf(clock);
    const events = happened.map(({ orgUuid, data }) => {
      const id = newEventId(random);
      return { id, type, orgUuid, body: bodyOf({ type, timestamp: at, id, orgUuid, data }), at };
    });
    if (type === "organization.deleted") {
      for (const event of events) await endWebhooks(tx, event.orgUuid, event);
      return;
    }
    if (events.length === 0) return;
    store.insertForSubscribers(tx, { type, appId }, events, at, databaseTime(clock), () => tx.wake(FIRST_ATTEMPTS));
  };
}
