import type { DescService } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import type { Client, Transport } from "@connectrpc/connect";
import { remember } from "./methods.ts";
import { SERVICES } from "./services.ts";
import { createAtriumTransport } from "./transport.ts";
import type { AtriumOptions } from "./settings.ts";

/** A client of every service, by the name of its area. */
export type Atrium = { readonly [Name in keyof typeof SERVICES]: Client<(typeof SERVICES)[Name]> } & {
  /** The connection, for `createClient` and other libraries of Connect. */
  readonly transport: Transport;
};

/** A client of the service. Clients of its areas are made when they are first used. */
export function createAtrium(options: AtriumOptions): Atrium {
  const transport = createAtriumTransport(options);
  const atrium = { transport };
  for (const [name, service] of Object.entries<DescService>(SERVICES)) {
    let client: Client<DescService> | undefined;
    Object.defineProperty(atrium, name, {
      enumerable: true,
      get() {
        if (client === undefined) remember(service, (client = createClient(service, transport)));
        return client;
      },
    });
  }
  return atrium as Atrium;
}
