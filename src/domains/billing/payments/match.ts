import type { Tx } from "../../../platform/db/types.ts";
import type { ProviderName } from "../providers/index.ts";
import type { Apply } from "./apply.ts";
import * as store from "./inbox-store.ts";
import type { ReceivedEvent } from "./inbox-store.ts";

/** Chains of ids in one purchase are short: session, subscription, invoice, payment. */
const MAX_ROUNDS = 10;

/** Finds the purchases that events belong to, and applies everything that belongs to them. */
export function createMatching({ apply }: Apply) {
  /** Gives quotes all events that name one of their ids, and applies them. The ids are locked. */
  async function applyAll(tx: Tx, provider: ProviderName, quoteIds: readonly string[]): Promise<void> {
    // Each event may name further ids, by which others are found that came earlier.
    for (let round = 0; round <= MAX_ROUNDS; round++) {
      const named = await store.claimEvents(tx, provider, quoteIds);
      if (named.length === 0) break;
      const ids = named.map(({ id }) => id);
      const [, isNew] = await Promise.all([store.lockIds(tx, provider, ids), store.linkIds(tx, provider, named)]);
      if (!isNew) break;
    }
    await apply(tx, provider, quoteIds);
  }

  return {
    /** Applies everything that belongs to the purchase which one of these ids names. */
    async match(tx: Tx, provider: ProviderName, ids: readonly string[]): Promise<void> {
      if (ids.length === 0) return;
      // Sent together; the server runs them in this order, so that the links are read after the wait for the lock.
      const [, links] = await Promise.all([store.lockIds(tx, provider, ids), store.linksOf(tx, provider, ids)]);
      const quoteId = links[0]?.quoteId;
      if (quoteId === undefined) return;
      const linked = new Set(links.map(({ id }) => id));
      const others = ids.filter((id) => !linked.has(id)).map((id) => ({ id, quoteId }));
      if (others.length > 0) await store.linkIds(tx, provider, others);
      await applyAll(tx, provider, [quoteId]);
    },

    /** Keeps events, each once by its id, and applies those that are new; returns how many these are. */
    async keep(tx: Tx, provider: ProviderName, received: readonly ReceivedEvent[], at: Date): Promise<number> {
      const once = [...new Map(received.map((one) => [one.event.eventId, one])).values()];
      const ids = once.flatMap(({ event }) => event.ids);
      const [, kept] = await Promise.all([
        store.lockIds(tx, provider, ids),
        store.insertEvents(tx, provider, once, at, { claim: true }),
      ]);
      const quoteIds = [...new Set(kept.flatMap(({ quoteId }) => quoteId ?? []))];
      if (quoteIds.length > 0) await applyAll(tx, provider, quoteIds);
      return kept.length;
    },
  };
}

/** Finds the purchases that events belong to. */
export type Matching = ReturnType<typeof createMatching>;
