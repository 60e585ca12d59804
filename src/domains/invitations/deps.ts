import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Limiter } from "../../platform/limits/index.ts";
import type { Random } from "../../platform/random.ts";
import type { Rbac } from "../rbac/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Organizations } from "../organizations/index.ts";
import type { People } from "../people/index.ts";

/** Dependencies of invitations. */
export interface InvitationsDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "uuid">;
  events: Pick<Events, "emit">;
  organizations: Pick<Organizations, "lock">;
  people: {
    mails: Pick<People["mails"], "send" | "demandMail">;
    memberships: Pick<People["memberships"], "hasMember">;
  };
  rbac: Pick<Rbac, "roles">;
  /** Counts calls for all instances; undefined where rate limits are off. */
  limiter: Pick<Limiter, "take"> | undefined;
  config: {
    /** Public URL of the service, no trailing slash. */
    baseUrl: string;
    /** Lifetime of an invitation. */
    invitationMs: number;
  };
}
