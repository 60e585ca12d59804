import { createCards } from "./cards/cards.ts";
import { createCheckout } from "./checkout/checkout.ts";
import { createCheckoutEnd } from "./checkout/leaving.ts";
import type { BillingDeps } from "./deps.ts";
import { createMeters } from "./meters/meters.ts";
import { createAccount } from "./payments/account.ts";
import { createApply } from "./payments/apply.ts";
import { createSubscriptionEnd } from "./payments/ending.ts";
import { createInbox } from "./payments/inbox.ts";
import { createOlderInstancesTidy } from "./payments/older-instances.ts";
import { createRefunds } from "./payments/refunds.ts";
import { createPlans } from "./plans/plans.ts";
import { createPrices } from "./prices/prices.ts";
import { createCountryLookup } from "./prices/region.ts";
import { createPortal } from "./checkout/portal.ts";
import { createProviders } from "./providers/index.ts";
import { createQuotes } from "./quotes/quotes.ts";
import { createQuoteTidy } from "./quotes/tidy.ts";
import { createReconciliationActivities } from "./reconcile/activities.ts";
import { createReconciliations } from "./reconcile/reconcile.ts";

/** Plans, prices, quotes, checkouts, payments, cards and meters (decisions 10). */
export function createBilling(deps: BillingDeps) {
  const prices = createPrices(deps, createCountryLookup());
  const quotes = createQuotes(deps, prices);
  const meters = createMeters(deps);
  const providers = createProviders(deps.config);
  const demand = deps.rbac.demandPermission;
  const inbox = createInbox(deps, providers, createApply(deps));
  const reconciliations = createReconciliations(deps, providers, inbox);
  return {
    plans: createPlans(deps),
    prices,
    quotes,
    checkout: createCheckout(deps, providers, demand, inbox),
    checkoutEnd: createCheckoutEnd(providers),
    inbox,
    reconciliations,
    activities: createReconciliationActivities(reconciliations),
    /** Whether there is a provider to reconcile with. */
    isConfigured: providers.names().length > 0,
    account: createAccount(deps, providers, demand),
    ending: createSubscriptionEnd(deps, providers),
    refunds: createRefunds(deps, providers, inbox),
    portal: createPortal(deps, providers, demand),
    cards: createCards(deps, providers),
    meters,
    tidy: {
      quotes: createQuoteTidy(deps),
      meterEvents: meters.tidy,
      providerEvents: inbox.tidy,
      reconciliations: reconciliations.tidy,
      customersOfOlderInstances: createOlderInstancesTidy(deps),
    },
  };
}

/** Billing as its service uses it. */
export type Billing = ReturnType<typeof createBilling>;
