import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { newEventId } from "../../platform/outgoing/delivery.ts";
import type { WebhookDeps } from "./deps.ts";
import type { Announcement } from "./events.ts";
import { bodyOf } from "./rules.ts";
import * as store from "./store.ts";

/** Telling the webhooks what happened, in the transaction in which it happened. */
export function createAnnounce({ clock, random, nudge }: Pick<WebhookDeps, "clock" | "random" | "nudge">) {
  return async function announce(tx: Tx, { type, orgUuid, appId, data }: Announcement): Promise<void> {
    const listeners = await store.keepListeners(tx, type, orgUuid, appId);
    if (listeners.length === 0) return;
    const at = dateOf(clock);
    const id = newEventId(random);
    await store.insertForListeners(tx, { id, type, body: bodyOf({ type, timestamp: at, id, orgUuid, data }), at }, listeners);
    tx.afterCommit(nudge);
  };
}
