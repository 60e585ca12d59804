import type { DescService } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";

/** A service of the contract and what is built of it; a missing rpc answers `unimplemented`. */
export interface ServiceRegistration<S extends DescService = DescService> {
  service: S;
  implementation: Partial<ServiceImpl<S>>;
}

/** Keeps the service's type while building a registration. */
export function registration<S extends DescService>(service: S, implementation: Partial<ServiceImpl<S>>): ServiceRegistration {
  return { service, implementation };
}
