import type { Clock } from "../../platform/clock.ts";
import type { PasswordHasher } from "../../platform/crypto/password.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database } from "../../platform/db/types.ts";
import type { SignInAttempts } from "../../platform/limits/index.ts";
import type { Random } from "../../platform/random.ts";
import type { Access } from "../access/index.ts";
import type { Credentials } from "../credentials/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Invitations } from "../invitations/index.ts";
import type { Mfa } from "../mfa/index.ts";
import type { Offboarding } from "../offboarding/index.ts";
import type { Oidc } from "../oidc/index.ts";
import type { Organizations } from "../organizations/index.ts";
import type { People } from "../people/index.ts";
import type { ServiceIdentities } from "../service-identities/index.ts";
import type { Sessions } from "../sessions/index.ts";
import type { Keys } from "../signing-keys/index.ts";
import type { Spiffe } from "../spiffe/index.ts";
import type { StepUp } from "../step-up/index.ts";
import type { Webhooks } from "../webhooks/index.ts";

/** Dependencies of sign-in and sign-up. */
export interface LoginDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "uuid" | "bytes" | "int">;
  /** Seals with the instance key. */
  sealer: Sealer;
  hasher: Pick<PasswordHasher, "hash" | "verify">;
  events: Pick<Events, "emit" | "emitFailure" | "recordFailure">;
  organizations: Organizations;
  people: People;
  access: Pick<Access, "standing">;
  keys: Keys;
  spiffe: { roots: Pick<Spiffe["roots"], "insertFirst"> };
  sessions: Sessions;
  mfa: Pick<Mfa, "isRequired" | "requestSecondFactor" | "verifyPending" | "factors">;
  stepUp: Pick<StepUp, "counter" | "endMailed">;
  credentials: Pick<Credentials, "ending">;
  serviceIdentities: Pick<ServiceIdentities, "endAll" | "lockForEnd">;
  webhooks: Pick<Webhooks, "lockForEnd" | "organizationEnds">;
  invitations: Pick<Invitations, "show" | "demandPending" | "use" | "withdrawAllOf">;
  offboarding: Offboarding;
  oidc: Pick<Oidc, "secondFactor" | "connections" | "endLinks">;
  /** Counts passwords that are not checked by `Login`; undefined where rate limits are off. */
  signInAttempts: SignInAttempts | undefined;
  config: LoginConfig;
}

/** Settings of sign-in and sign-up; lifetimes in milliseconds. */
export interface LoginConfig {
  /** Public URL of the service, no trailing slash. */
  baseUrl: string;
  /** Anybody may sign up; otherwise platform admins only. */
  openSignup: boolean;
  /** Responses contain the token of a magic link. Development only. */
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
}
