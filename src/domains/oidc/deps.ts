import type { Clock } from "../../platform/clock.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database } from "../../platform/db/types.ts";
import type { GuardedClient } from "../../platform/outgoing/client.ts";
import type { Random } from "../../platform/random.ts";
import type { Access } from "../access/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Mfa } from "../mfa/index.ts";
import type { Organizations } from "../organizations/index.ts";
import type { People } from "../people/index.ts";
import type { Sessions } from "../sessions/index.ts";

/** Dependencies of single sign-on by OpenID Connect. */
export interface OidcDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "uuid" | "bytes">;
  /** Seals with the instance key. */
  sealer: Sealer;
  outgoing: Pick<GuardedClient, "request" | "vetUrl">;
  events: Pick<Events, "emit" | "recordFailure">;
  organizations: Pick<Organizations, "findIn" | "lock" | "change">;
  people: Pick<People, "createUnlessKnown" | "memberships">;
  access: Pick<Access, "standing" | "standingOf">;
  sessions: Sessions;
  mfa: Pick<Mfa, "isRequired" | "isRequiredOf" | "requestSecondFactor">;
  config: {
    /** Public URL of the service, no trailing slash. */
    baseUrl: string;
    /** A sign-in from `authorize` to the callback, milliseconds. */
    stateMs: number;
    /** A session token, milliseconds. */
    sessionTokenMs: number;
  };
}
