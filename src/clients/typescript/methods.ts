import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { Client } from "./bundled/connect.ts";

/** The rpc behind a function of a client. */
const methods = new WeakMap<object, DescMethod>();

/** Remembers which rpcs the functions of a client call. */
export function remember(service: DescService, client: Client<DescService>): void {
  for (const method of service.methods) {
    const call = (client as Readonly<Record<string, unknown>>)[method.localName];
    if (typeof call === "function") methods.set(call, method);
  }
}

/** The rpc that a function calls; undefined for a function that is not of `createAtrium`. */
export function methodOf(call: object): DescMethod | undefined {
  return methods.get(call);
}
