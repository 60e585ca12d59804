import type { DescService } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Caller } from "./caller.ts";

/**
 * A precondition on the caller of an rpc that the contract cannot declare because it depends on stored state. The gate
 * evaluates it last, before the body is read and an Idempotency-Key is looked up. Throws to refuse.
 */
export type Precondition = (caller: Caller | undefined) => void | Promise<void>;

/** A service of the contract with its implementation; an absent rpc returns `unimplemented`. */
export interface ServiceRegistration<S extends DescService = DescService> {
  service: S;
  implementation: Partial<ServiceImpl<S>>;
  preconditions?: { readonly [K in keyof ServiceImpl<S>]?: Precondition };
}

/** Keeps the service's type while building a registration. */
export function registration<S extends DescService>(
  service: S,
  implementation: Partial<ServiceImpl<S>>,
  preconditions: { readonly [K in keyof ServiceImpl<S>]?: Precondition } = {},
): ServiceRegistration {
  return { service, implementation, preconditions };
}
