import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Standing } from "../access/index.ts";
import type { MfaDeps } from "./deps.ts";
import { hasActiveFactor } from "./store.ts";
import { insertPending } from "./token-store.ts";

/** Somebody who has passed a door. */
export interface FirstStep {
  /** What they are, read in the same transaction; the session would act in its organization. */
  standing: Standing;
  /** How they proved it (RFC 8176). */
  amr: readonly string[];
  info: RequestInfo;
  /** What is still to be done when the second factor is proven: a name of `MfaDeps.continuations`, and JSON for it. */
  continuation?: { name: string; payload: Readonly<Record<string, unknown>> };
}

/** A door's answer to somebody with an active factor: no tokens yet. */
export interface SecondFactorNeeded {
  mfaRequired: true;
  /** For `POST /api/auth/mfa/totp/challenge`. */
  mfaToken: string;
}

/** What every door asks before it opens a session (decisions 3.3). */
export function createGatekeeper({ clock, random, config }: Pick<MfaDeps, "clock" | "random" | "config">) {
  return {
    /** Whether somebody has to pass a second factor to sign in. */
    isNeeded: (tx: Tx, userUuid: string): Promise<boolean> => hasActiveFactor(tx, userUuid),

    /** The call for the second factor; undefined for somebody without an active one, whose session may be opened. */
    async begin(tx: Tx, { standing, amr, info, continuation }: FirstStep): Promise<SecondFactorNeeded | undefined> {
      const { userUuid, credentialsVersion, org } = standing;
      if (!(await hasActiveFactor(tx, userUuid))) return undefined;
      const { token, hash } = newOpaqueToken(random);
      await insertPending(tx, {
        hash,
        userUuid,
        orgUuid: org?.uuid ?? null,
        credentialsVersion,
        deviceUuid: info.deviceUuid ?? null,
        amr,
        continuation: continuation ?? null,
        at: dateOf(clock),
        expiresAt: dateOf(clock, config.mfaTokenMs),
      });
      return { mfaRequired: true, mfaToken: token };
    },
  };
}

/** The second factor at the doors. */
export type Gatekeeper = ReturnType<typeof createGatekeeper>;
