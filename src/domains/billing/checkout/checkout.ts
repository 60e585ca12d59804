import { callerOrg } from "../../../platform/caller.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import { errors } from "../../../platform/errors.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { BillingDeps } from "../deps.ts";
import type { DemandPermission } from "../../rbac/index.ts";
import { billingErrors } from "../errors.ts";
import type { ProviderName, Providers } from "../providers/index.ts";
import type { Inbox } from "../payments/inbox.ts";
import { pageOf } from "./pages.ts";
import * as store from "./store.ts";
import type { QuoteToPay } from "./store.ts";

/** How long a session can be paid, milliseconds: Stripe demands at least 30 minutes. */
const SESSION_MS = 31 * 60_000;
/** How long a request may take to open a session before another one tries, milliseconds. */
const CLAIM_MS = 30_000;
/** How often and how long a request waits for the session that another one opens, milliseconds. */
const [WAIT_MS, WAITS] = [100, 150];

/** What to check out. */
export interface CheckoutWish {
  quoteId: string;
  provider: string | undefined;
  successUrl: string | undefined;
  cancelUrl: string | undefined;
}

/** A checkout. */
export interface CheckoutView {
  quote: QuoteToPay;
  provider: ProviderName;
  sessionId: string;
  url: string | null;
  status: "open" | "complete" | "expired";
  expiresAt: Date;
}

/** Checkouts of quotes at the payment providers (decisions 10.5). */
export function createCheckout(
  deps: BillingDeps,
  providers: Providers,
  demand: DemandPermission,
  inbox: Pick<Inbox, "match">,
) {
  const { database, clock, events, config } = deps;

  function view(quote: QuoteToPay): CheckoutView | undefined {
    const { provider, sessionId, url, sessionExpiresAt: expiresAt, isCompleted } = quote;
    if (provider === null || sessionId === null || expiresAt === null) return undefined;
    const isOver = expiresAt.getTime() <= clock.now();
    const status = isCompleted ? "complete" : isOver ? "expired" : "open";
    return { quote, provider, sessionId, url, status, expiresAt };
  }

  /**
   * The quote to pay.
   * @throws {not_found} when the organization has no such quote
   * @throws {quote_consumed} once it is paid
   * @throws {quote_expired} when it, or the install it is for, has ended
   */
  async function payable(orgUuid: string, quoteId: string): Promise<QuoteToPay> {
    const quote = await store.findQuote(database, orgUuid, quoteId);
    if (quote === undefined) throw billingErrors.quoteNotFound();
    if (quote.consumedAt !== null) throw billingErrors.quoteConsumed();
    if (quote.isInstallEnded || quote.expiresAt.getTime() <= clock.now()) throw billingErrors.quoteExpired();
    return quote;
  }

  async function openSession(quote: QuoteToPay, provider: ProviderName, pages: { success: string; cancel: string }) {
    const expiresAt = dateOf(clock, SESSION_MS);
    const order = {
      quoteId: quote.quoteId,
      description: quote.product ?? "Install",
      currency: quote.currency,
      unitAmount: quote.unitAmountCents,
      seats: quote.seats,
      tax: quote.taxCents,
      interval: quote.interval ?? ("month" as const),
      successUrl: pages.success,
      cancelUrl: pages.cancel,
      expiresAt,
    };
    const { openCheckout } = await providers.get(provider);
    return providers.call(() => openCheckout(order));
  }

  /** Opens the session of a claimed checkout and stores it; frees the claim when either fails. */
  async function open(
    context: CallerContext,
    quote: QuoteToPay,
    provider: ProviderName,
    pages: { success: string; cancel: string },
  ): Promise<{ id: string; url: string | null }> {
    const orgUuid = callerOrg(context.caller);
    try {
      const session = await openSession(quote, provider, pages);
      await context.transaction(async (tx) => {
        await store.storeSession(tx, quote.quoteId, provider, session);
        // An event of this session may have come before.
        await inbox.match(tx, provider, [session.id]);
        await events.emit(tx, EVENTS["checkout.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: session.id,
          metadata: { quote_id: quote.quoteId, provider, total_cents: quote.totalCents, currency: quote.currency },
        });
      });
      return session;
    } catch (error) {
      await store.freeClaim(database, quote.quoteId);
      throw error;
    }
  }

  return {
    /**
     * Opens a checkout at a provider; the same quote gives the same session, however many ask at once.
     * @throws {forbidden} without the permission `billing:write`
     * @throws {not_found} when the organization has no such quote
     * @throws {quote_consumed} once it is paid
     * @throws {quote_expired} when it has ended
     * @throws {conflict} when it has a session at another provider
     * @throws {provider_unknown} for another provider than the two
     * @throws {provider_not_configured} when it is not configured
     * @throws {provider_error} when the provider does not open one
     */
    async create(context: CallerContext, wish: CheckoutWish): Promise<CheckoutView> {
      await demand(context.caller, "billing:write");
      const orgUuid = callerOrg(context.caller);
      const pages = {
        success: pageOf(config, "success_url", wish.successUrl),
        cancel: pageOf(config, "cancel_url", wish.cancelUrl),
      };
      for (let waits = 0; waits <= WAITS; waits++) {
        const quote = await payable(orgUuid, wish.quoteId);
        const wanted = wish.provider === undefined ? undefined : providers.nameOf(wish.provider);
        if (quote.sessionId !== null && wanted !== undefined && wanted !== quote.provider)
          throw billingErrors.otherProvider();
        const present = view(quote);
        if (present !== undefined) return present;
        const provider = wanted ?? providers.standard();
        // Those who wait for the session below wait for the provider alone, not for its SDK to load.
        await providers.get(provider);
        const times = {
          at: dateOf(clock),
          staleBefore: dateOf(clock, -CLAIM_MS),
          expiresAt: dateOf(clock, SESSION_MS),
        };
        // The answer to an Idempotency-Key belongs to the transaction that stores the session, not to this one.
        const claimed = await database.transaction(
          (tx) => store.claimCheckout(tx, wish.quoteId, orgUuid, provider, times),
          { ...context.caller, effect: undefined },
        );
        if (!claimed) {
          await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
          continue;
        }
        const session = await open(context, quote, provider, pages);
        const { id: sessionId, url } = session;
        return { quote, provider, sessionId, url, status: "open", expiresAt: times.expiresAt };
      }
      throw errors.unavailable({ retryAfter: 5 });
    },
  };
}
