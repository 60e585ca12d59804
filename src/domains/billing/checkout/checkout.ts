import { callerOrg } from "../../../platform/caller.ts";
import type { Caller } from "../../../platform/caller.ts";
import type { CallerContext } from "../../../platform/context.ts";
import { databaseTime } from "../../../platform/db/time.ts";
import type { Tx } from "../../../platform/db/types.ts";
import { errors } from "../../../platform/errors.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { BillingDeps } from "../deps.ts";
import type { DemandPermission } from "../../rbac/index.ts";
import { billingErrors } from "../errors.ts";
import { endsByItself, UnknownCustomer, UnsupportedSum } from "../providers/index.ts";
import type { ProviderName, Providers } from "../providers/index.ts";
import type { Inbox } from "../payments/inbox.ts";
import { pageOf } from "./pages.ts";
import { createPayers } from "./payer.ts";
import * as store from "./store.ts";
import type { Claim, QuoteToPay } from "./store.ts";

/** How long a session can be paid at least, milliseconds: Stripe demands 30 minutes. */
const SESSION_MS = 31 * 60_000;
/** And at most, at Stripe, which allows 24 hours by its own clock. */
const MAX_SESSION_MS = 24 * 3_600_000 - 60_000;
/** How long after the end of a session a payment of its last second may be reported, milliseconds. */
const REPORT_MS = 60_000;
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
  const { database, clock, random, events, marketplace, config } = deps;
  const payers = createPayers(deps, providers);

  function view(quote: QuoteToPay): CheckoutView | undefined {
    const { provider, sessionId, url, sessionExpiresAt: expiresAt, isCompleted } = quote;
    if (provider === null || sessionId === null || expiresAt === null) return undefined;
    const status = isCompleted ? "complete" : expiresAt.getTime() <= clock.now() ? "expired" : "open";
    return { quote, provider, sessionId, url, status, expiresAt };
  }

  /** When a session that is opened now ends: with its quote, where the provider allows that. */
  function sessionEnd(quote: QuoteToPay, provider: ProviderName): Date {
    const end = Math.max(quote.expiresAt.getTime(), clock.now() + SESSION_MS);
    return new Date(provider === "stripe" ? Math.min(end, clock.now() + MAX_SESSION_MS) : end);
  }

  /** Whether nobody can pay a session any more. */
  const isOver = ({ provider, status, expiresAt }: CheckoutView): boolean =>
    endsByItself(provider) && status === "expired" && expiresAt.getTime() + REPORT_MS <= clock.now();

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

  async function openSession(
    caller: Caller,
    quote: QuoteToPay,
    { provider, expiresAt }: Claim,
    pages: { success: string; cancel: string },
  ) {
    const order = {
      quoteId: quote.quoteId,
      // Each attempt is one of its own: what its call sends depends on its time.
      key: `checkout-${random.uuid()}`,
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
    const isUnsupported = (error: unknown): boolean => error instanceof UnsupportedSum;
    const isUnknown = (error: unknown): boolean => error instanceof UnknownCustomer;
    const openAs = (customer: string | undefined, passes: (error: unknown) => boolean) =>
      providers.call(() => openCheckout({ ...order, customer }), passes);
    const customer = await payers.of(caller, provider);
    return openAs(customer, (error) => isUnsupported(error) || isUnknown(error))
      .catch(async (error: unknown) => {
        if (!isUnknown(error)) throw error;
        return openAs(await payers.of(caller, provider, customer), isUnsupported);
      })
      .catch((error: unknown) => {
        throw isUnsupported(error) ? billingErrors.unsupportedSum({ cause: error }) : error;
      });
  }

  /** @throws {quote_expired} when the install that a quote is for has ended since the quote was read */
  async function demandInstall(tx: Tx, { installId }: QuoteToPay): Promise<void> {
    if (installId === null) return;
    if ((await marketplace.installs.lockEnded(tx, [installId])).has(installId)) throw billingErrors.quoteExpired();
  }

  /**
   * Opens the session of a claimed checkout and stores it; frees the claim when either fails.
   * @throws {unavailable} when another request has claimed the checkout since: nobody is shown this session
   * @throws {forbidden} when the caller has lost the permission since
   * @throws {quote_expired} when the install that it is for has ended since
   */
  async function open(
    context: CallerContext,
    quote: QuoteToPay,
    claim: Claim,
    pages: { success: string; cancel: string },
  ): Promise<{ id: string; url: string | null }> {
    const orgUuid = callerOrg(context.caller);
    const { provider } = claim;
    try {
      const session = await openSession(context.caller, quote, claim, pages);
      await context.transaction(async (tx) => {
        await demand(context.caller, "billing:write", tx);
        if (!(await store.storeSession(tx, claim, session))) throw errors.unavailable({ retryAfter: 1 });
        // An event of this session may have come before.
        await inbox.match(tx, provider, [session.id]);
        await demandInstall(tx, quote);
        await events.emit(tx, EVENTS["checkout.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: session.id,
          metadata: { quote_id: quote.quoteId, provider, total_cents: quote.totalCents, currency: quote.currency },
        });
      });
      return session;
    } catch (error) {
      await store.freeClaim(database, claim);
      throw error;
    }
  }

  /**
   * Claims the checkout of a quote; undefined when another request holds it. A claim whose commit got no answer may
   * have taken effect: it is freed, so that a repetition does not wait for its end.
   */
  async function claimOf(
    caller: Caller,
    wanting: Omit<Claim, "at">,
    endedSession: string | null,
  ): Promise<Claim | undefined> {
    const times = { now: databaseTime(clock), claimMs: CLAIM_MS };
    let claim: Claim | undefined;
    try {
      await database.transaction(
        async (tx) => (claim = await store.claimCheckout(tx, wanting, callerOrg(caller), times, endedSession)),
        // The answer to an Idempotency-Key belongs to the transaction that stores the session, not to this one.
        { ...caller, effect: undefined },
      );
      return claim;
    } catch (error) {
      if (claim !== undefined) await store.freeClaim(database, claim).catch(() => undefined);
      throw error;
    }
  }

  return {
    /**
     * Opens a checkout at a provider; the same quote gives the same session, however many ask at once, until it ends.
     * @throws {forbidden} without the permission `billing:write`
     * @throws {not_found} when the organization has no such quote
     * @throws {quote_consumed} once it is paid
     * @throws {quote_expired} when it has ended
     * @throws {conflict} when it has a session at another provider
     * @throws {currency_unsupported} when the provider cannot charge the sum
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
        if (present !== undefined && !isOver(present)) return present;
        const provider = wanted ?? present?.provider ?? providers.standard();
        // Those who wait for the session below wait for the provider alone, not for its SDK to load.
        await providers.get(provider);
        const wanting = { quoteId: wish.quoteId, provider, expiresAt: sessionEnd(quote, provider) };
        const claim = await claimOf(context.caller, wanting, quote.sessionId);
        if (claim === undefined) {
          await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
          continue;
        }
        const { id: sessionId, url } = await open(context, quote, claim, pages);
        return { quote, provider, sessionId, url, status: "open", expiresAt: claim.expiresAt };
      }
      throw errors.unavailable({ retryAfter: 5 });
    },
  };
}
