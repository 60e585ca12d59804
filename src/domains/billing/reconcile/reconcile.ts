import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import { errors } from "../../../platform/errors.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { BillingDeps } from "../deps.ts";
import type { Inbox } from "../payments/inbox.ts";
import { PROVIDER_NAMES } from "../providers/index.ts";
import type { ProviderName, Providers } from "../providers/index.ts";
import * as store from "./store.ts";

/** Outbox topic: a reconciliation was requested. Payload: `{id}`. */
export const RECONCILIATION_REQUESTED = "billing.reconciliation_requested";

/** The period of a run that names none, milliseconds: three days, for as long as Stripe repeats a delivery. */
const PERIOD_MS = 3 * 86_400_000;
/** How long rows of runs that have ended are kept, milliseconds. */
const KEPT_MS = 30 * 86_400_000;

/** Whether a provider comes behind another in the order in which they are asked. */
const isBehind = (one: ProviderName, other: ProviderName): boolean =>
  PROVIDER_NAMES.indexOf(one) > PROVIDER_NAMES.indexOf(other);

/** What to reconcile. */
export interface ReconciliationWish {
  provider: string | undefined;
  from: Date | undefined;
  to: Date | undefined;
}

/** Asks the providers for events that never came, and applies them as if they had come (decisions 17.5). */
export function createReconciliations(
  { database, clock, random, events, log }: BillingDeps,
  providers: Providers,
  inbox: Pick<Inbox, "keep">,
) {
  return {
    /**
     * Requests a reconciliation; returns its id.
     * @throws {provider_unknown} for another provider than the two
     * @throws {provider_not_configured} when it, or none at all, is configured
     * @throws {validation_error} when the period ends before it begins
     */
    async request(context: CallerContext, { provider, from, to }: ReconciliationWish): Promise<string> {
      const names = provider === undefined ? providers.names() : [providers.nameOf(provider)];
      for (const name of names.length === 0 ? [providers.standard()] : names) providers.demand(name);
      const end = to ?? dateOf(clock);
      const start = from ?? new Date(end.getTime() - PERIOD_MS);
      if (start.getTime() > end.getTime())
        throw errors.validation({ fields: [{ field: "to", code: "range", message: "must not be before from" }] });
      const id = random.uuid();
      await context.transaction(async (tx) => {
        const isRequested = true;
        await store.insertReconciliation(tx, { id, names, start, end, isRequested, at: dateOf(clock) });
        await tx.emit({ topic: RECONCILIATION_REQUESTED, payload: { id } });
        await events.emit(tx, EVENTS["reconciliation.requested"], {
          by: causedBy(context),
          orgUuid: context.caller.orgUuid,
          resourceId: id,
          metadata: { providers: names, from: start.toISOString(), to: end.toISOString() },
        });
      });
      return id;
    },

    /** Stores a run over the last days under an id, once; returns the id. */
    async plan(id: string): Promise<string> {
      const [start, end] = [dateOf(clock, -PERIOD_MS), dateOf(clock)];
      const names = providers.names();
      await database.background.transaction((tx) =>
        store.insertReconciliation(tx, { id, names, start, end, isRequested: false, at: end }),
      );
      return id;
    },

    /**
     * Applies what was missed of the next page of events; false when there is none. The page is marked as done after
     * its last event; of a page that was interrupted, what has been applied is known when it is read again.
     */
    async nextPage(id: string): Promise<boolean> {
      const run = await store.findReconciliation(database.background, id);
      if (run === undefined || run.finished) return false;
      const [name, ...rest] = run.providers;
      if (name === undefined || !providers.isConfigured(name)) return advance(rest, null, 0, 0);
      const provider = await providers.get(name);
      const page = await provider.listEvents(run.start, run.end, run.position).catch((error: unknown) => {
        // Those behind it are asked first; one that has no other behind it is tried until the workflow gives up.
        if (!rest.some((other) => isBehind(other, name))) throw error;
        log.warn(
          { err: error, provider: name },
          "A payment provider does not list its events; it is asked again later",
        );
        return undefined;
      });
      if (page === undefined) return advance([...rest, name], null, 0, 0);
      let repaired = 0;
      for (const { event, body } of page.events) if (await inbox.keep(name, event, body)) repaired++;
      if (repaired > 0) log.warn({ provider: name, repaired }, "Events of a payment provider had been missed");
      const isOver = page.next === null;
      return advance(isOver ? rest : run.providers, isOver ? null : page.next, page.events.length, repaired);

      async function advance(
        left: readonly ProviderName[],
        position: string | null,
        seen: number,
        added: number,
      ): Promise<boolean> {
        const at = dateOf(clock);
        await database.background.transaction((tx) => store.advance(tx, id, { left, position, seen, added, at }));
        return left.length > 0;
      }
    },

    /** Requested runs that have not ended, for the workflow recovery. */
    waiting: (after: string | null, limit: number) => store.unfinished(database.background, after, limit),

    tidy: () => store.deleteFinished(database.background, dateOf(clock, -KEPT_MS)),
  };
}

/** Reconciliations. */
export type Reconciliations = ReturnType<typeof createReconciliations>;
