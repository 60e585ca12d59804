import type { DescMethod } from "@bufbuild/protobuf";

/** The rpc behind a function of a client. */
const methods = new WeakMap<object, DescMethod>();

/** Remembers which rpc a function of a client calls. */
export function remember(call: object, method: DescMethod): void {
  methods.set(call, method);
}

/** The rpc that a function calls; undefined for one of no client of `createAtrium` or `createClient`. */
export function methodOf(call: object): DescMethod | undefined {
  return methods.get(call);
}
