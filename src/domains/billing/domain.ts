import { BillingService } from "../../../gen/atrium/billing/v1/billing_pb.ts";
import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { registration } from "../../platform/rpc.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Marketplace } from "../marketplace/index.ts";
import type { Keys } from "../signing-keys/index.ts";
import { createBilling } from "./billing.ts";
import { billingRpc } from "./rpc.ts";

/** Plans, prices, quotes and meters. */
export const billingDomain = defineDomain(
  "billing",
  ({
    eventCatalogue: events,
    signingKeys: keys,
    config: { baseUrl, ttl },
    contexts,
    ...below
  }: Ground & { eventCatalogue: Events; signingKeys: Keys; marketplace: Marketplace }) => {
    const billing = createBilling({ ...below, events, keys, config: { baseUrl, quoteMs: ttl.quoteMs } });
    return { ...billing, services: [registration(BillingService, billingRpc(billing, contexts))] };
  },
);
