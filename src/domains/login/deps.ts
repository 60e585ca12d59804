import type { Clock } from "../../platform/clock.ts";
import type { PasswordHasher } from "../../platform/crypto/password.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { Limiter } from "../../platform/limits/index.ts";
import type { Random } from "../../platform/random.ts";
import type { Access, Administration } from "../access/index.ts";
import type { Audit } from "../auth-events/index.ts";
import type { Credentials } from "../credentials/index.ts";
import type { Keys } from "../signing-keys/index.ts";
import type { Mfa } from "../mfa/index.ts";
import type { Organizations } from "../organizations/index.ts";
import type { Sessions } from "../sessions/index.ts";
import type { People } from "../people/index.ts";

/** What the doors are made of. */
export interface LoginDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "uuid" | "bytes" | "int">;
  /** Seals with the instance key. */
  sealer: Sealer;
  hasher: Pick<PasswordHasher, "hash" | "verify">;
  audit: Audit;
  organizations: Organizations;
  people: People;
  access: Access;
  keys: Keys;
  sessions: Sessions;
  mfa: Pick<Mfa, "gatekeeper" | "factors" | "stepUp">;
  credentials: Pick<Credentials, "ending">;
  administration: {
    members: Pick<Administration["members"], "end">;
    organizations: Pick<Administration["organizations"], "end">;
  };
  /** Ends every webhook of an organization. */
  endWebhooks(tx: Tx, orgUuid: string): Promise<void>;
  /** Counts calls for all instances; undefined where limits are off. */
  limiter: Pick<Limiter, "take"> | undefined;
  config: LoginConfig;
}

/** Settings of the doors; times in milliseconds. */
export interface LoginConfig {
  /** Public URL of the service, no trailing slash. */
  baseUrl: string;
  /** Anybody may sign up; otherwise platform admins only. */
  openSignup: boolean;
  /** Answers carry the token of a magic link. Development only. */
  magicLinkDevEcho: boolean;
  /** Access token of a password login. */
  accessMs: number;
  /** Magic link. */
  magicLinkMs: number;
  /** Access token of a magic link. */
  magicAccessMs: number;
  /** One-time code. */
  otpMs: number;
  /** Link to set a new password. */
  passwordResetMs: number;
  /** Invitation. */
  invitationMs: number;
}
