import type { Clock } from "../../platform/clock.ts";
import type { PasswordHasher } from "../../platform/crypto/password.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Limiter } from "../../platform/limits/index.ts";
import type { Random } from "../../platform/random.ts";
import type { Access } from "../access/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Mfa } from "../mfa/index.ts";
import type { People } from "../people/index.ts";
import type { Sessions } from "../sessions/index.ts";

/** Dependencies of step-up. */
export interface StepUpDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "bytes" | "uuid">;
  hasher: Pick<PasswordHasher, "verify">;
  events: Pick<Events, "emit" | "emitFailure" | "recordFailure">;
  people: Pick<People, "findPassword"> & {
    mails: Pick<People["mails"], "send" | "demandMail">;
  };
  access: Pick<Access, "standing">;
  sessions: Pick<Sessions, "proofs" | "tokens">;
  mfa: Pick<Mfa, "codes" | "budgets" | "isRequired">;
  /** Counts mails for all instances; undefined where rate limits are off. */
  limiter: Pick<Limiter, "take"> | undefined;
  /** Lifetimes in milliseconds. */
  config: {
    /** Public URL of the service, no trailing slash. */
    baseUrl: string;
    /** Elevated tokens. */
    elevatedMs: number;
    /** Challenges. */
    stepUpMs: number;
    /** Challenges by mail. */
    magicLinkMs: number;
  };
}
