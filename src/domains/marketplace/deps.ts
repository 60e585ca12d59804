import type { Clock } from "../../platform/clock.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Cursors } from "../../platform/cursors.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Log } from "../../platform/log.ts";
import type { GuardedClient } from "../../platform/outgoing/client.ts";
import type { Random } from "../../platform/random.ts";
import type { Access } from "../access/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Organizations } from "../organizations/index.ts";
import type { People } from "../people/index.ts";

/** Dependencies of the marketplace. */
export interface MarketplaceDeps {
  database: Database;
  clock: Clock;
  log: Log;
  cursors: Cursors;
  random: Random;
  /** Seals webhook secrets of apps with the instance key. */
  sealer: Sealer;
  /** For calls to publishers; refuses private addresses. */
  outgoing: Pick<GuardedClient, "request" | "vetUrl">;
  events: Pick<Events, "emit">;
  organizations: Pick<Organizations, "keep" | "findIn" | "nameOf" | "namesOf">;
  people: Pick<People, "emailsOf"> & {
    memberships: Pick<People["memberships"], "ownersOf" | "activeOf" | "keepActive">;
  };
  access: { apps: Pick<Access["apps"], "demandAdministrator"> };
  config: {
    /** Public URL of the service, no trailing slash. */
    baseUrl: string;
    /** Time a publisher has to provision an install. */
    provisionDeadlineMs: number;
    /** Time a publisher has to deprovision an install. */
    deprovisionDeadlineMs: number;
    /** Timeout of a request to a publisher. */
    webhookTimeoutMs: number;
    /** Waits before the attempts, milliseconds, each counted from the one before; the last repeats. */
    schedule: readonly number[];
  };
}

/** Sealing context of an app's webhook secret. */
export function secretContext(appId: string): string {
  return `app-provision-secret:${appId}`;
}

export type { Page } from "../../platform/db/paging.ts";
