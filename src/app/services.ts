import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { services } from "../../gen/services.ts";
import type { ServiceRegistration } from "../platform/rpc.ts";

/** Services and rpcs of the contract that are not built yet: they return `unimplemented` (501). */
const UNBUILT: ReadonlySet<DescService | DescMethod> = new Set<DescService | DescMethod>();

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
