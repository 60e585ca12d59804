import type { Announce } from "../../platform/announce.ts";
import type { RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import type { PasswordHasher } from "../../platform/crypto/password.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { Random } from "../../platform/random.ts";
import type { Access, Administration } from "../access/index.ts";
import type { Audit } from "../auth-events/index.ts";
import type { Sessions } from "../sessions/index.ts";
import type { People } from "../people/index.ts";

/** What second factors and step-up are made of. */
export interface MfaDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "bytes" | "uuid">;
  /** Seals with the instance key. */
  sealer: Sealer;
  hasher: Pick<PasswordHasher, "verify">;
  audit: Pick<Audit, "record" | "recordFailure">;
  /** Tells the webhooks of an organization. */
  announce: Announce<"mfa.enrolled" | "mfa.disabled">;
  people: Pick<People, "lock" | "findPassword" | "confirmProven"> & {
    mails: Pick<People["mails"], "send" | "demandMail">;
    memberships: Pick<People["memberships"], "belongsElsewhere" | "organizationsOf">;
  };
  access: Pick<Access, "standing">;
  /** Members of the caller's organization, in the caller's turn. */
  members: Pick<Administration["members"], "hold">;
  sessions: Pick<Sessions, "open" | "own" | "proofs" | "tokens">;
  /** What doors do once the second factor is proven, by name; they stand below and are filled in by compose.ts. */
  continuations: Readonly<Record<string, Continuation>>;
  config: MfaConfig;
}

/**
 * What a door still had to do when it asked for the second factor, in the transaction that opens the session.
 * Answers the organization the session acts in. What it throws undoes the challenge: no code is used up.
 */
export type Continuation = (
  tx: Tx,
  pending: { userUuid: string; payload: Readonly<Record<string, unknown>> },
  info: RequestInfo,
) => Promise<string | null>;

/** Settings; times in milliseconds. */
export interface MfaConfig {
  /** Public URL of the service, no trailing slash. */
  baseUrl: string;
  /** Elevated tokens, and the age a proof of the second factor may have. */
  elevatedMs: number;
  mfaTokenMs: number;
  /** Step-up challenges. */
  stepUpMs: number;
  /** Step-up challenges by mail. */
  magicLinkMs: number;
  stepUpLockMs: number;
}
