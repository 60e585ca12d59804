import { createBatches } from "../../../platform/batches.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { RequestContext } from "../../../platform/context.ts";
import { isAway } from "../../../platform/db/failure.ts";
import { waitShortly } from "../../../platform/db/lock-wait.ts";
import type { Page } from "../../../platform/db/paging.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { ServiceError } from "../../../platform/errors.ts";
import type { BillingDeps } from "../deps.ts";
import { PROVIDER_ERRORS, PROVIDER_NAMES } from "../providers/index.ts";
import type { ProviderEvent, ProviderName, Providers } from "../providers/index.ts";
import type { Apply } from "./apply.ts";
import * as store from "./inbox-store.ts";
import type { ReceivedEvent, UnclaimedEvent } from "./inbox-store.ts";
import { createMatching } from "./match.ts";
import { announceRefunds } from "./refunds.ts";

/** How long events that say nothing about a payment are kept, milliseconds. */
const KEPT_MS = 30 * 86_400_000;
/**
 * How long events are kept that say something about a payment and belong to no purchase, as those of other products of
 * the account, milliseconds: longer than a provider lists events, any of which may still link them.
 */
const STATED_MS = 90 * 86_400_000;
/** Events that one run of the background matches. */
const KEPT_BATCH = 100;
/** Events that are received together. */
const RECEIVED_BATCH = 50;
/** Maximum size of their bodies together, bytes. */
const RECEIVED_BYTES = 4_194_304;

/** Runs work in a transaction. */
type Transact = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;

/** Events of the payment providers: kept, and applied (decisions 10.1 and 10.6). */
export function createInbox({ database, clock, log }: BillingDeps, providers: Providers, apply: Apply) {
  const { match, keep } = createMatching(apply);

  /** Keeps events and applies those that are new; returns how many these are. */
  async function keepAll(tx: Tx, provider: ProviderName, received: readonly ReceivedEvent[]): Promise<number> {
    const count = await keep(tx, provider, received, dateOf(clock));
    await announceRefunds(tx, provider, received, dateOf(clock));
    return count;
  }

  /** Keeps and applies an event; keeps it alone when it cannot be applied now. False when it is known. */
  async function receiveAlone(transact: Transact, provider: ProviderName, received: ReceivedEvent): Promise<boolean> {
    try {
      return await transact(async (tx) => (await keepAll(tx, provider, [received])) > 0);
    } catch (error) {
      if (isAway(error)) throw error;
      const { eventId } = received.event;
      log.error({ err: error, provider, event_id: eventId }, "An event of a payment provider is applied later");
      return transact(async (tx) => {
        const kept = await store.insertEvents(tx, provider, [received], dateOf(clock), { claim: false });
        await announceRefunds(tx, provider, [received], dateOf(clock));
        return kept.length > 0;
      });
    }
  }

  const transact: Transact = (work) => database.transaction(work);

  /** Receives events together. If that fails, each is received alone, so that none fails because of another. */
  async function receiveTogether(provider: ProviderName, all: readonly ReceivedEvent[]): Promise<Promise<void>[]> {
    try {
      await transact((tx) => {
        waitShortly(tx);
        return keepAll(tx, provider, all);
      });
      return all.map(() => Promise.resolve());
    } catch (error) {
      if (isAway(error)) throw error;
      return all.map(async (received) => void (await receiveAlone(transact, provider, received)));
    }
  }

  /** One batch at a time: events that arrive while others are received share the next transaction. */
  const batchesOf = (provider: ProviderName) =>
    createBatches<ReceivedEvent, void>(RECEIVED_BATCH, (all) => receiveTogether(provider, all), {
      inFlight: 1,
      sizeOf: ({ body }) => Buffer.byteLength(body),
      maxSize: RECEIVED_BYTES,
    });
  const batches = new Map(PROVIDER_NAMES.map((name) => [name, batchesOf(name)]));

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
      const { readEvent, signatureHeader } = await providers.get(provider);
      const raw = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      const event = readEvent(raw, headers.get(signatureHeader), clock.now());
      if (event === undefined) throw new ServiceError(PROVIDER_ERRORS.signatureInvalid);
      const received = { event, body: raw.toString("utf8") };
      // A deadline or a credential belongs to the transaction of its own request.
      const batch = context.caller === undefined && context.signal === undefined ? batches.get(provider) : undefined;
      if (batch !== undefined) return batch(received);
      await receiveAlone((work) => context.transaction(work), provider, received);
    },

    /** Keeps an event that never came, and applies it, now or later; false when it is known. */
    keep: (provider: ProviderName, event: ProviderEvent, body: string): Promise<boolean> =>
      receiveAlone((work) => database.background.transaction(work), provider, { event, body }),

    /**
     * Applies events that were kept and not applied, such as before a crash; returns how many it looked at. One that
     * cannot be applied holds up no other.
     * @throws the first failure, after the last event
     */
    async applyKept(): Promise<number> {
      let [looked, after]: [number, UnclaimedEvent | undefined] = [0, undefined];
      const failures: unknown[] = [];
      for (let size = KEPT_BATCH; size === KEPT_BATCH; looked += size) {
        const waiting: UnclaimedEvent[] = await store.unclaimedEvents(database.background, after, KEPT_BATCH);
        for (const { provider, eventId, ids } of waiting) {
          try {
            await database.background.transaction((tx) => match(tx, provider, ids));
          } catch (error) {
            if (isAway(error)) throw error;
            log.debug({ err: error, provider, event_id: eventId }, "A kept event of a payment provider is not applied");
            failures.push(error);
          }
        }
        [size, after] = [waiting.length, waiting.at(-1)];
      }
      if (failures.length > 0) throw failures[0];
      return looked;
    },

    /** Payments that granted nothing, newest first. */
    unmatched: (page: Page) => store.unmatchedPayments(database, page),

    tidy: () => store.deleteUnmatched(database.background, dateOf(clock, -KEPT_MS), dateOf(clock, -STATED_MS)),
  };
}

/** Events of the payment providers. */
export type Inbox = ReturnType<typeof createInbox>;
