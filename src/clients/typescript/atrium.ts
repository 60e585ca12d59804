import type { DescService } from "@bufbuild/protobuf";
import type { Client, Transport } from "./bundled/connect.ts";
import { createClient } from "./client.ts";
import * as services from "./services.ts";
import { createAtriumTransport } from "./transport.ts";
import type { AtriumOptions } from "./settings.ts";

/** A client of every service, by the name of its area. */
export type Atrium = { readonly [Name in keyof typeof services]: Client<(typeof services)[Name]> } & {
  /** The connection, for {@link createClient} and other libraries of Connect. */
  readonly transport: Transport;
};

/** A client of the service. Clients of its areas are made when they are first used. */
export function createAtrium(options: AtriumOptions): Atrium {
  const transport = createAtriumTransport(options);
  const atrium = { transport };
  for (const [name, service] of Object.entries<DescService>(services)) {
    let client: Client<DescService> | undefined;
    Object.defineProperty(atrium, name, {
      enumerable: true,
      get() {
        return (client ??= createClient(service, transport));
      },
    });
  }
  return atrium as Atrium;
}
