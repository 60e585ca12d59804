import type { DescService } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Caller } from "./caller.ts";

/**
 * What a domain demands of the caller of an rpc where the contract cannot say it, because it takes a look at what is
 * stored. The gate asks last, before the body is read and an Idempotency-Key is looked up. Refuses by throwing.
 */
export type Demand = (caller: Caller | undefined) => void | Promise<void>;

/** A service of the contract and what is built of it; a missing rpc answers `unimplemented`. */
export interface ServiceRegistration<S extends DescService = DescService> {
  service: S;
  implementation: Partial<ServiceImpl<S>>;
  demands?: { readonly [K in keyof ServiceImpl<S>]?: Demand };
}

/** Keeps the service's type while building a registration. */
export function registration<S extends DescService>(
  service: S,
  implementation: Partial<ServiceImpl<S>>,
  demands: { readonly [K in keyof ServiceImpl<S>]?: Demand } = {},
): ServiceRegistration {
  return { service, implementation, demands };
}
