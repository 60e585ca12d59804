import { BillingService } from "../../../gen/atrium/billing/v1/billing_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { createPoller } from "../../platform/poller.ts";
import { registration } from "../../platform/rpc.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Marketplace } from "../marketplace/index.ts";
import type { Organizations } from "../organizations/index.ts";
import type { Keys } from "../signing-keys/index.ts";
import { createBilling } from "./billing.ts";
import { billingRpc } from "./rpc.ts";

type Below = { eventCatalogue: Events; signingKeys: Keys; marketplace: Marketplace; organizations: Organizations };

/** Plans, prices, quotes, checkouts, payments, cards and meters. */
export const billingDomain = defineDomain("billing", (ground: Ground & Below) => {
  const { eventCatalogue: events, signingKeys: keys, config, contexts, ...below } = ground;
  const { baseUrl, cors, stripe, paddle, ttl } = config;
  const billing = createBilling({
    ...below,
    events,
    keys,
    config: { baseUrl, corsOrigins: cors.origins, stripe, paddle, quoteMs: ttl.quoteMs },
  });
  return {
    ...billing,
    services: [
      registration(BillingService, billingRpc(billing, contexts), {
        listHistory: billing.account.demandToRead,
        addCard: billing.cards.demandPerson,
        setDefaultCard: billing.cards.demandPerson,
        deleteCard: billing.cards.demandPerson,
      }),
    ],
    pollers: [
      createPoller(ground, {
        name: "billing-events",
        intervalMs: 10_000,
        backOff: { firstMs: 1_000, maxMs: 60_000 },
        run: async () => (await billing.inbox.applyKept()) > 0,
      }),
    ],
  };
});
