import type { Clock } from "../../platform/clock.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Limiter } from "../../platform/limits/index.ts";
import type { Random } from "../../platform/random.ts";
import type { Access } from "../access/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { People } from "../people/index.ts";
import type { Rbac } from "../rbac/index.ts";
import type { Sessions } from "../sessions/index.ts";

/** Dependencies of second factors. */
export interface MfaDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "bytes">;
  /** Seals with the instance key. */
  sealer: Sealer;
  events: Pick<Events, "emit" | "emitFailure">;
  people: Pick<People, "lock" | "confirmProven"> & {
    mails: Pick<People["mails"], "send">;
    memberships: Pick<People["memberships"], "belongsElsewhere" | "organizationsOf">;
  };
  access: Pick<Access, "standing">;
  rbac: { members: Pick<Rbac["members"], "lock"> };
  sessions: Pick<Sessions, "own" | "proofs">;
  /** Counts changes for all instances; undefined where rate limits are off. */
  limiter: Pick<Limiter, "take"> | undefined;
  config: MfaConfig;
}

/** Settings; lifetimes in milliseconds. */
export interface MfaConfig {
  /** Elevated tokens, and the maximum age of a proof of the second factor that changes factors. */
  elevatedMs: number;
  /** Sign-ins that wait for the second factor. */
  mfaTokenMs: number;
  /** Lockout after failed step-ups. */
  stepUpLockMs: number;
}
