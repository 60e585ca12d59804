import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Standing } from "../access/index.ts";
import type { MfaDeps } from "./deps.ts";
import { hasActiveFactor, hasActiveFactorOf } from "./store.ts";
import { insertPending } from "./token-store.ts";
import type { NextStep } from "./token-store.ts";

/** A person who has proven who they are by one factor. */
export interface FirstStep {
  /** Read in the same transaction; the session would act in its organization. */
  standing: Standing;
  /** How they proved it (RFC 8176). */
  amr: readonly string[];
  info: RequestInfo;
  /** What the sign-in still has to do once the second factor is verified. */
  next?: NextStep | undefined;
}

/** The response to the first step of a person with an active factor: no tokens yet. */
export interface SecondFactorNeeded {
  mfaRequired: true;
  /** For `POST /api/auth/mfa/totp/challenge`. */
  mfaToken: string;
}

/** Sign-ins that wait for the second factor (decisions 3.3). */
export function createPendingSignIns({ clock, random, config }: Pick<MfaDeps, "clock" | "random" | "config">) {
  return {
    /** Whether a person has to pass a second factor to sign in. */
    isRequired: (tx: Tx, userUuid: string): Promise<boolean> => hasActiveFactor(tx, userUuid),
    /** The same, of the person that a query names. */
    isRequiredOf: hasActiveFactorOf,

    /**
     * Stores the sign-in of a person with an active factor and returns the request for the second factor; undefined for
     * other people, whose session may be opened.
     */
    async requestSecondFactor(
      tx: Tx,
      { standing, amr, info, next }: FirstStep,
    ): Promise<SecondFactorNeeded | undefined> {
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
        next: next ?? null,
        at: dateOf(clock),
        expiresAt: dateOf(clock, config.mfaTokenMs),
      });
      return { mfaRequired: true, mfaToken: token };
    },
  };
}
