import type { Tx } from "../../../platform/db/types.ts";
import type { ProviderName } from "../providers/index.ts";
import type { Apply } from "./apply.ts";
import * as store from "./inbox-store.ts";
import type { Link, ReceivedEvent } from "./inbox-store.ts";

/** Chains of ids in one purchase are short: session, subscription, invoice, payment. */
const MAX_ROUNDS = 10;

/** Finds the purchases that events belong to, and applies everything that belongs to them. */
export function createMatching({ apply }: Apply) {
  /**
   * Links the ids of events that were claimed for quotes, claims the events that name these, and so on, and applies
   * everything that belongs to the quotes. The ids that led to the quotes are locked.
   */
  async function applyAll(
    tx: Tx,
    provider: ProviderName,
    quoteIds: readonly string[],
    claimed: readonly Link[],
  ): Promise<void> {
    let named = claimed;
    for (let round = 0; round <= MAX_ROUNDS && named.length > 0; round++) {
      const ids = named.map(({ id }) => id);
      const [, isNew] = await Promise.all([store.lockIds(tx, provider, ids), store.linkIds(tx, provider, named)]);
      if (!isNew) break;
      named = await store.claimEvents(tx, provider, "quotes", quoteIds);
    }
    await apply(tx, provider, quoteIds);
  }

  return {
    /** Applies everything that belongs to the purchase which one of these ids names. */
    async match(tx: Tx, provider: ProviderName, ids: readonly string[]): Promise<void> {
      if (ids.length === 0) return;
      store.readByIndex(tx);
      // Sent together; the server runs them in this order, so that the links are read after the wait for the lock.
      const [, links] = await Promise.all([store.lockIds(tx, provider, ids), store.linksOf(tx, provider, ids)]);
      const quoteId = links[0]?.quoteId;
      if (quoteId === undefined) return;
      const linked = new Set(links.map(({ id }) => id));
      const others = ids.filter((id) => !linked.has(id)).map((id) => ({ id, quoteId }));
      if (others.length > 0) await store.linkIds(tx, provider, others);
      const claimed = await store.claimEvents(tx, provider, "quotes", [quoteId]);
      await applyAll(tx, provider, [quoteId], claimed);
    },

    /** Keeps events, each once by its id, and applies those that are new; returns how many these are. */
    async keep(tx: Tx, provider: ProviderName, received: readonly ReceivedEvent[], at: Date): Promise<number> {
      const once = [...new Map(received.map((one) => [one.event.eventId, one])).values()];
      const ids = once.flatMap(({ event }) => event.ids);
      const eventIds = once.map(({ event }) => event.eventId);
      store.readByIndex(tx);
      const [, kept, claimed] = await Promise.all([
        store.lockIds(tx, provider, ids),
        store.insertEvents(tx, provider, once, at, { claim: true }),
        store.claimEvents(tx, provider, "events", eventIds),
      ]);
      const quoteIds = [...new Set([...kept, ...claimed].flatMap(({ quoteId }) => quoteId ?? []))];
      if (quoteIds.length > 0) await applyAll(tx, provider, quoteIds, claimed);
      return kept.length;
    },
  };
}
