import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { services } from "../../gen/services.ts";
import { MtlsCaService } from "../../gen/atrium/mtls_ca/v1/mtls_ca_pb.ts";
import { BillingService } from "../../gen/atrium/billing/v1/billing_pb.ts";
import { OidcService } from "../../gen/atrium/oidc/v1/oidc_pb.ts";
import { ScimService } from "../../gen/atrium/scim/v1/scim_pb.ts";
import type { ServiceRegistration } from "../platform/rpc.ts";

/** Services and rpcs of the contract that are not built yet: they return `unimplemented` (501). */
const UNBUILT: ReadonlySet<DescService | DescMethod> = new Set<DescService | DescMethod>([
  MtlsCaService,
  BillingService.method.createCheckoutSession,
  BillingService.method.listHistory,
  BillingService.method.listCards,
  BillingService.method.addCard,
  BillingService.method.setDefaultCard,
  BillingService.method.deleteCard,
  BillingService.method.receiveProviderEvent,
  BillingService.method.listSubscriptions,
  BillingService.method.cancelSubscription,
  OidcService,
  MtlsCaService,
  ScimService.method.bulk,
]);

/**
 * Every service of the contract, in its order.
 * @throws Error when a service is registered twice, or one of its rpcs has no implementation
 */
export function composeServices(registered: readonly ServiceRegistration[]): ServiceRegistration[] {
  const byService = new Map<DescService, ServiceRegistration>();
  for (const entry of registered) {
    if (byService.has(entry.service)) throw new Error(`${entry.service.typeName} is registered twice`);
    byService.set(entry.service, entry);
  }
  return services.map((service) => {
    const entry = byService.get(service);
    if (entry === undefined && UNBUILT.has(service)) return { service, implementation: {} };
    const implementation = entry?.implementation ?? {};
    const missing = service.methods.filter((method) => !(method.localName in implementation) && !UNBUILT.has(method));
    if (entry === undefined || missing.length > 0)
      throw new Error(`${service.typeName} has no implementation of ${missing.map(({ name }) => name).join(", ")}`);
    return entry;
  });
}
