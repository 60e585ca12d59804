import type { Clock } from "../../platform/clock.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Log } from "../../platform/log.ts";
import type { Random } from "../../platform/random.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Invitations } from "../invitations/index.ts";
import type { Offboarding } from "../offboarding/index.ts";
import type { People } from "../people/index.ts";
import type { Rbac } from "../rbac/index.ts";

/** Dependencies of SCIM. */
export interface ScimDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "uuid">;
  sealer: Sealer;
  log: Pick<Log, "error">;
  events: Pick<Events, "emit" | "emitEach" | "notify">;
  people: Pick<People, "lock" | "createAllUnlessKnown" | "describe" | "readdress" | "memberships">;
  rbac: Pick<Rbac, "members">;
  offboarding: Pick<Offboarding, "members">;
  invitations: Pick<Invitations, "directory">;
  config: {
    /** Public URL of the service, no trailing slash. */
    baseUrl: string;
    /** Lifetime of a cursor. */
    cursorMs: number;
  };
}
