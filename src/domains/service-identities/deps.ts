import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Random } from "../../platform/random.ts";
import type { Credentials } from "../credentials/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Liveness } from "../liveness/index.ts";
import type { Rbac } from "../rbac/index.ts";

/** Dependencies of service identities. */
export interface ServiceIdentitiesDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "uuid" | "int">;
  events: Pick<Events, "emit" | "emitEach">;
  /** Whether credentials are live. */
  liveness: Liveness;
  rbac: { roles: Pick<Rbac["roles"], "ofOrganization"> };
  credentials: { ending: Pick<Credentials["ending"], "keysOfIdentity" | "keysOfIdentities"> };
  /** Middle of the visible prefix of tokens: `live`, or `dev` in the development profile. */
  environment: string;
}
