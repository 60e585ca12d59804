import type { Clock } from "../../platform/clock.ts";
import type { Config } from "../../platform/config/types.ts";
import type { Cursors } from "../../platform/cursors.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Log } from "../../platform/log.ts";
import type { Random } from "../../platform/random.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Marketplace } from "../marketplace/index.ts";
import type { Organizations } from "../organizations/index.ts";
import type { People } from "../people/index.ts";
import type { DemandPermission } from "../rbac/index.ts";
import type { Keys } from "../signing-keys/index.ts";

/** Dependencies of billing. */
export interface BillingDeps {
  database: Pick<Database, "prepared" | "background" | "transaction">;
  clock: Clock;
  cursors: Cursors;
  random: Random;
  events: Pick<Events, "emit" | "notifyEach">;
  keys: { signing: Pick<Keys["signing"], "activeOf"> };
  marketplace: { installs: Pick<Marketplace["installs"], "price" | "paid" | "lockEnded"> };
  organizations: Pick<Organizations, "lockAll" | "planExists" | "setPaidPlans">;
  people: Pick<People, "confirmedEmail">;
  rbac: { demandPermission: DemandPermission };
  log: Log;
  config: Pick<Config, "stripe" | "paddle"> & {
    /** Origins to which providers may send browsers, besides the service's own; in development any loopback one. */
    corsOrigins: readonly string[] | "loopback";
    /** Public URL of the service: claim `iss` of quotes. */
    baseUrl: string;
    /** How long a quote is valid, milliseconds. */
    quoteMs: number;
  };
}
