import { dateOf } from "../../../platform/clock.ts";
import type { RequestContext } from "../../../platform/context.ts";
import type { Page } from "../../../platform/db/paging.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { ServiceError } from "../../../platform/errors.ts";
import type { BillingDeps } from "../deps.ts";
import { PROVIDER_ERRORS } from "../providers/index.ts";
import type { ProviderEvent, ProviderName, Providers } from "../providers/index.ts";
import type { Apply } from "./apply.ts";
import * as store from "./inbox-store.ts";

/** How long events that say nothing about a payment are kept, milliseconds. */
const KEPT_MS = 30 * 86_400_000;
/** Events that one run of the background matches. */
const BATCH = 100;
/** Chains of ids in one purchase are short: session, subscription, invoice, payment. */
const MAX_ROUNDS = 10;

/** Events of the payment providers: kept, and applied (decisions 10.1 and 10.6). */
export function createInbox({ database, clock, log }: BillingDeps, providers: Providers, { apply }: Apply) {
  /** Applies everything that belongs to the purchase which one of these ids names; false when none does. */
  async function match(tx: Tx, provider: ProviderName, ids: readonly string[]): Promise<boolean> {
    if (ids.length === 0) return false;
    // Sent together; the server runs them in this order, so that the links are read after the wait for the lock.
    const [, links] = await Promise.all([store.lockIds(tx, provider, ids), store.linksOf(tx, provider, ids)]);
    const quoteId = links[0]?.quoteId;
    if (quoteId === undefined) return false;
    const linked = new Set(links.map(({ id }) => id));
    let added = ids.filter((id) => !linked.has(id));
    // Each event may name further ids, by which others are found that came earlier.
    for (let round = 0; round <= MAX_ROUNDS; round++) {
      if (added.length > 0) await store.linkIds(tx, provider, added, quoteId);
      for (const id of ids.concat(added)) linked.add(id);
      const named = await store.claimEvents(tx, provider, quoteId);
      added = [...new Set(named)].filter((id) => !linked.has(id));
      if (added.length === 0) break;
      await store.lockIds(tx, provider, added);
    }
    await apply(tx, provider, quoteId);
    return true;
  }

  return {
    match,

    /**
     * Receives an event. It is kept once by its id, and applied; what cannot be applied now is kept and applied later.
     * @throws {provider_unknown} for another provider than the two
     * @throws {provider_not_configured} when it is not configured
     * @throws {signature_invalid} when signature, time or body is not right
     */
    async receive(context: RequestContext, name: string, body: Uint8Array, headers: Headers): Promise<void> {
      const provider = providers.nameOf(name);
      const { readEvent, signatureHeader } = providers.get(provider);
      const raw = Buffer.from(body);
      const event = readEvent(raw, headers.get(signatureHeader), clock.now());
      if (event === undefined) throw new ServiceError(PROVIDER_ERRORS.signatureInvalid);
      const text = raw.toString("utf8");
      const insert = (tx: Tx): Promise<boolean> => store.insertEvent(tx, provider, event, text, dateOf(clock));
      try {
        await context.transaction(async (tx) => {
          if (await insert(tx)) await match(tx, provider, event.ids);
        });
      } catch (error) {
        log.error({ err: error, provider, event_id: event.eventId }, "An event of a payment provider is applied later");
        await context.transaction(insert);
      }
    },

    /** Keeps and applies an event that never came; false when it is known. */
    async keep(provider: ProviderName, event: ProviderEvent, body: string): Promise<boolean> {
      return database.background.transaction(async (tx) => {
        if (!(await store.insertEvent(tx, provider, event, body, dateOf(clock)))) return false;
        await match(tx, provider, event.ids);
        return true;
      });
    },

    /** Applies events that were kept and not applied, such as before a crash; returns how many it looked at. */
    async applyKept(): Promise<number> {
      const waiting = await store.unclaimedEvents(database.background, BATCH);
      for (const { provider, ids } of waiting) await database.background.transaction((tx) => match(tx, provider, ids));
      return waiting.length;
    },

    /** Payments that granted nothing, newest first. */
    unmatched: ({ limit, offset }: Page) => store.unmatchedPayments(database, limit, offset),

    tidy: () => store.deleteUnmatched(database.background, dateOf(clock, -KEPT_MS)),
  };
}

/** Events of the payment providers. */
export type Inbox = ReturnType<typeof createInbox>;
