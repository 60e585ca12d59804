import { callerOrg } from "../../../platform/caller.ts";
import type { CallerContext } from "../../../platform/context.ts";
import type { SigningKey } from "../../../platform/crypto/jwk.ts";
import { signJwt } from "../../../platform/crypto/jwt.ts";
import { errors } from "../../../platform/errors.ts";
import { createJointTransactions } from "../../../platform/joint-transactions.ts";
import { createLru } from "../../../platform/lru.ts";
import type { BillingDeps } from "../deps.ts";
import { billingErrors } from "../errors.ts";
import { amountsOf } from "../prices/amounts.ts";
import type { Amounts } from "../prices/amounts.ts";
import type { PriceInRegion } from "../prices/choice.ts";
import type { Prices } from "../prices/prices.ts";
import { insertQuotes } from "./store.ts";
import type { QuoteRow } from "./store.ts";

/** Header `typ` of quotes, so that none is accepted as a bearer token (decisions 10.4). */
const TOKEN_TYPE = "atrium-quote+jwt";
/** Maximum number of quotes that one transaction stores. */
const MAX_BATCH = 50;
/** Number of organizations whose last key is remembered. */
const MAX_LAST_KEYS = 4_096;

/** What to quote: exactly one of `priceId` and `installId`. */
export interface QuoteWish {
  priceId: number | undefined;
  installId: string | undefined;
  seats: number | undefined;
  currency: string | undefined;
}

type Priced = Omit<PriceInRegion, "taxPercent"> & Amounts & { seats: number; interval?: QuoteRow["interval"] };

/** Quotes: signed offers that are valid for 15 minutes (decisions 10.4). */
export function createQuotes(deps: BillingDeps, prices: Pick<Prices, "workOut" | "regionOf">) {
  const { database, clock, random, keys, marketplace, config } = deps;

  /** The plan of an install times its quantity; the publisher's price has no regions and no tax. */
  async function priceOfInstall(context: CallerContext, installId: string, wanted: string | undefined) {
    const { quantity: seats, ...price } = await marketplace.installs.price(context, installId);
    const { currency, unitAmountCents, interval } = price;
    if (wanted !== undefined && wanted.toLowerCase() !== currency) throw billingErrors.currencyUnsupported();
    const amounts = amountsOf(unitAmountCents, seats, null);
    if (amounts === undefined) throw errors.validation({ message: "The install costs more than 99,999,999." });
    return { region: "default", currency, unitAmountCents, seats, interval, ...amounts };
  }

  async function priced(context: CallerContext, { priceId, installId, seats, currency }: QuoteWish): Promise<Priced> {
    if (installId !== undefined) return priceOfInstall(context, installId, currency);
    const region = prices.regionOf(context.info.address);
    return prices.workOut({ priceId: priceId ?? 0, region, currency, seats: seats ?? 1 });
  }

  /** The key that an organization's last quote was signed with; which key is active, the transaction says. */
  const lastKeys = createLru<SigningKey>(MAX_LAST_KEYS);

  const sign = (key: SigningKey, quote: QuoteRow): Promise<string> =>
    signJwt(key, TOKEN_TYPE, claimsOf(quote, config.baseUrl, random.uuid()));

  /**
   * Stores a quote; returns its token. One round trip: the keys are awaited after the commit. Signs with the last key
   * of the organization while the transaction is under way, and again if another key was active.
   */
  const store = createJointTransactions<QuoteRow, string>(database, MAX_BATCH, (tx, quotes) => {
    const until = new Date(Math.max(...quotes.map(({ expiresAt }) => expiresAt.getTime())));
    const active = keys.signing.activeOf(tx, [...new Set(quotes.map(({ orgUuid }) => orgUuid))], until);
    insertQuotes(tx, quotes);
    // It may reject while a signature is made, before anybody awaits it.
    active.catch(() => undefined);
    const sent = new Promise<void>((resolve) => setImmediate(resolve));
    return quotes.map(async (quote) => {
      const { orgUuid } = quote;
      const last = lastKeys.get(orgUuid);
      const early = last === undefined ? undefined : await sent.then(() => sign(last, quote));
      const key = (await active).get(orgUuid);
      if (key === undefined) throw new Error(`no active signing key for ${orgUuid}`);
      if (early !== undefined && key.kid === last?.kid) return early;
      lastKeys.set(orgUuid, key);
      return sign(key, quote);
    });
  });

  return {
    /**
     * Makes a quote for the region of the caller's address.
     * @throws {validation_error} unless exactly one of price and install is named
     * @throws {price_not_found} when there is no such active price
     * @throws {install_not_found} when the organization has no such live install
     * @throws {currency_unsupported} when it is not sold in the currency
     */
    async create(context: CallerContext, wish: QuoteWish): Promise<{ quote: QuoteRow; token: string }> {
      const orgUuid = callerOrg(context.caller);
      if ((wish.priceId === undefined) === (wish.installId === undefined)) {
        const message = "is needed, or install_id, and not both";
        throw errors.validation({ fields: [{ field: "price_id", code: "required", message }] });
      }
      const { subtotal, tax, total, ...rest } = await priced(context, wish);
      const { type, id } = context.caller.principal;
      // Whole seconds, so that the token says the same.
      const issuedAtMs = Math.floor(clock.now() / 1000) * 1000;
      const quote: QuoteRow = {
        quoteId: random.uuid(),
        orgUuid,
        priceId: wish.priceId ?? null,
        installId: wish.installId ?? null,
        interval: rest.interval ?? null,
        seats: rest.seats,
        currency: rest.currency,
        region: rest.region,
        unitAmountCents: rest.unitAmountCents,
        subtotalCents: subtotal,
        taxCents: tax,
        totalCents: total,
        issuedBy: `${type}:${id}`,
        issuedAt: new Date(issuedAtMs),
        expiresAt: new Date(issuedAtMs + config.quoteMs),
      };
      return { quote, token: await store(context, quote) };
    },
  };
}

function claimsOf(quote: QuoteRow, issuer: string, jti: string) {
  return {
    iss: issuer,
    org: quote.orgUuid,
    jti,
    iat: quote.issuedAt.getTime() / 1000,
    exp: quote.expiresAt.getTime() / 1000,
    quote_id: quote.quoteId,
    price_id: quote.priceId,
    install_id: quote.installId,
    seats: quote.seats,
    currency: quote.currency,
    region: quote.region,
    unit_amount_cents: quote.unitAmountCents,
    subtotal_cents: quote.subtotalCents,
    tax_cents: quote.taxCents,
    total_cents: quote.totalCents,
    issued_at: quote.issuedAt.toISOString(),
    expires_at: quote.expiresAt.toISOString(),
    status: "open",
  };
}
