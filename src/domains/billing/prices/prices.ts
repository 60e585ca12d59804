import { createBatches } from "../../../platform/batches.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import type { Page } from "../../../platform/db/paging.ts";
import { errors } from "../../../platform/errors.ts";
import { isCountry, minorDigits } from "../../../platform/iso-codes.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { BillingDeps } from "../deps.ts";
import { billingErrors } from "../errors.ts";
import { amountsOf, formatAmount } from "./amounts.ts";
import type { Amounts } from "./amounts.ts";
import { choosePrice } from "./choice.ts";
import type { PriceInRegion } from "./choice.ts";
import type { CountryLookup } from "./region.ts";
import * as store from "./store.ts";
import type { PriceRow, PriceTerms } from "./store.ts";

/** What to work out. */
export interface Wish {
  priceId: number;
  /** Where the buyer is; undefined for the default row. */
  region: string | undefined;
  /** In any case of letters; undefined for the region's own. */
  currency: string | undefined;
  seats: number;
}

/** A price for some seats in a region. */
export interface PricedSeats extends PriceInRegion, Amounts {
  priceId: number;
  seats: number;
}

/** Maximum number of requests that one statement reads prices for. */
const MAX_BATCH = 256;

/** Prices: made, listed, worked out (decisions 10.3). */
export function createPrices({ database, clock, events, organizations }: BillingDeps, countryOf: CountryLookup) {
  /**
   * The rows of a price that can be bought, the default row first. Requests that arrive while others are read share a
   * statement, which costs more than all else of a preview.
   */
  const activePrice = createBatches<number, readonly PriceInRegion[] | undefined>(
    MAX_BATCH,
    async (ids) => {
      const prices = await store.findActivePrices(database, [...new Set(ids)]);
      const byId = new Map(prices.map((price) => [price.priceId, rowsOf(price)]));
      return ids.map((id) => byId.get(id));
    },
    { inFlight: 1 },
  );

  /**
   * Works out what some seats cost.
   * @throws {price_not_found} when there is no such active price
   * @throws {currency_unsupported} when the price is not sold in the currency
   * @throws {validation_error} when the total is above 99,999,999
   */
  async function workOut({ priceId, region, currency, seats }: Wish): Promise<PricedSeats> {
    const rows = await activePrice(priceId);
    if (rows === undefined) throw billingErrors.priceNotFound();
    const row = choosePrice(rows, region, currency?.toLowerCase());
    if (row === undefined) throw billingErrors.currencyUnsupported();
    const amounts = amountsOf(row.unitAmountCents, seats, row.taxPercent);
    if (amounts === undefined)
      throw errors.validation({ fields: [{ field: "seats", code: "max", message: "make a total above 99,999,999" }] });
    return { priceId, seats, ...row, ...amounts };
  }

  return {
    workOut,

    /** The region of an address; undefined where none is known. */
    regionOf: countryOf,

    /** Works out a price for people to see, by region or else by address. */
    async preview(wish: Wish & { address: string | undefined }) {
      const { priceId, currency, seats, address } = wish;
      const region = wish.region ?? (address === undefined ? undefined : countryOf(address));
      const priced = await workOut({ priceId, region, currency, seats });
      return { priced, formatted: formatAmount(priced.total, priced.currency) };
    },

    /** Prices, newest first. */
    list: (filter: { active?: boolean | undefined; product?: string | undefined }, page: Page) =>
      store.pricesWhere(database, filter, page),

    /**
     * Makes a price.
     * @throws {currency_unsupported} for a currency that does not exist
     * @throws {validation_error} when a region is no country, or has a currency twice
     * @throws {invalid_plan} for an unknown plan
     */
    create: async (context: CallerContext, wish: Omit<PriceRow, "priceId" | "active" | "createdAt">) => {
      for (const { currency } of [wish, ...wish.regions])
        if (minorDigits(currency) === undefined) throw billingErrors.unknownCurrency();
      const unknown = wish.regions.findIndex(({ region }) => !isCountry(region));
      if (unknown !== -1) {
        const message = "must be a country of ISO 3166-1 alpha-2, such as GB";
        throw errors.validation({ fields: [{ field: `regions[${unknown}].region`, code: "unknown", message }] });
      }
      const again = repeatedRegion(wish.regions);
      if (again !== -1) {
        const message = "must not repeat a region and currency";
        throw errors.validation({ fields: [{ field: `regions[${again}]`, code: "duplicate", message }] });
      }
      const row = { ...wish, createdAt: dateOf(clock) };
      return context.transaction(async (tx): Promise<PriceRow> => {
        if (wish.plan !== null && !(await organizations.planExists(tx, wish.plan))) throw billingErrors.invalidPlan();
        const priceId = await store.insertPrice(tx, row);
        await events.emit(tx, EVENTS["price.created"], {
          by: causedBy(context),
          orgUuid: context.caller.orgUuid,
          resourceId: String(priceId),
          metadata: { product: wish.product, currency: wish.currency, unit_amount_cents: wish.unitAmountCents },
        });
        return { ...row, priceId, active: true };
      });
    },

    /** @throws {price_not_found} when there is no such active price */
    deactivate: async (context: CallerContext, priceId: number): Promise<void> => {
      await context.transaction(async (tx) => {
        if (!(await store.deactivatePrice(tx, priceId))) throw billingErrors.priceNotFound();
        await events.emit(tx, EVENTS["price.deactivated"], {
          by: causedBy(context),
          orgUuid: context.caller.orgUuid,
          resourceId: String(priceId),
          metadata: {},
        });
      });
    },
  };
}

function rowsOf({ currency, unitAmountCents, taxPercent, regions }: PriceTerms): PriceInRegion[] {
  return [{ region: "default", currency, unitAmountCents, taxPercent }, ...regions];
}

/** Index of the first row that repeats region and currency of one before it; -1 for none. */
function repeatedRegion(rows: readonly PriceInRegion[]): number {
  const keys = rows.map(({ region, currency }) => `${region} ${currency}`);
  return keys.findIndex((key, nth) => keys.indexOf(key) < nth);
}

/** Prices as quotes use them. */
export type Prices = ReturnType<typeof createPrices>;
