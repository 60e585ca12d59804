import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Random } from "../../platform/random.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Marketplace } from "../marketplace/index.ts";
import type { Keys } from "../signing-keys/index.ts";

/** Dependencies of billing. */
export interface BillingDeps {
  database: Pick<Database, "prepared" | "background">;
  clock: Clock;
  random: Random;
  events: Pick<Events, "emit">;
  keys: { signing: Pick<Keys["signing"], "active"> };
  marketplace: { installs: Pick<Marketplace["installs"], "price"> };
  config: {
    /** Public URL of the service: claim `iss` of quotes. */
    baseUrl: string;
    /** How long a quote is valid, milliseconds. */
    quoteMs: number;
  };
}
