import { createCards } from "./cards/cards.ts";
import { createCheckout } from "./checkout/checkout.ts";
import type { BillingDeps } from "./deps.ts";
import { createMeters } from "./meters/meters.ts";
import { createAccount } from "./payments/account.ts";
import { createApply } from "./payments/apply.ts";
import { createInbox } from "./payments/inbox.ts";
import { createPlans } from "./plans/plans.ts";
import { createPrices } from "./prices/prices.ts";
import { createCountryLookup } from "./prices/region.ts";
import { createProviders } from "./providers/index.ts";
import { createQuotes } from "./quotes/quotes.ts";
import { createRights } from "./rights.ts";

/** Plans, prices, quotes, checkouts, payments, cards and meters (decisions 10). */
export function createBilling(deps: BillingDeps) {
  const prices = createPrices(deps, createCountryLookup());
  const quotes = createQuotes(deps, prices);
  const meters = createMeters(deps);
  const providers = createProviders(deps.config);
  const demand = createRights(deps.database);
  const inbox = createInbox(deps, providers, createApply(deps));
  return {
    plans: createPlans(deps),
    prices,
    quotes,
    checkout: createCheckout(deps, providers, demand, inbox),
    inbox,
    account: createAccount(deps, providers, demand),
    cards: createCards(deps, providers),
    meters,
    tidy: { quotes: quotes.tidy, meterEvents: meters.tidy, providerEvents: inbox.tidy },
  };
}

/** Billing as its service uses it. */
export type Billing = ReturnType<typeof createBilling>;
