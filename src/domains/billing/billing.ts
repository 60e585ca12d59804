import type { BillingDeps } from "./deps.ts";
import { createMeters } from "./meters/meters.ts";
import { createPlans } from "./plans/plans.ts";
import { createPrices } from "./prices/prices.ts";
import { createCountryLookup } from "./prices/region.ts";
import { createQuotes } from "./quotes/quotes.ts";

/** Plans, prices, quotes and meters (decisions 10). */
export function createBilling(deps: BillingDeps) {
  const prices = createPrices(deps, createCountryLookup());
  const quotes = createQuotes(deps, prices);
  const meters = createMeters(deps);
  return {
    plans: createPlans(deps),
    prices,
    quotes,
    meters,
    tidy: { quotes: quotes.tidy, meterEvents: meters.tidy },
  };
}

/** Billing as its service uses it. */
export type Billing = ReturnType<typeof createBilling>;
