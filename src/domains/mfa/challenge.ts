import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { hashToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { ServiceError } from "../../platform/errors.ts";
import type { Standing } from "../access/index.ts";
import { causedByPerson, EVENTS, withoutActor } from "../event-catalogue/index.ts";
import type { Budgets } from "./budget.ts";
import type { Codes } from "./codes.ts";
import type { MfaDeps } from "./deps.ts";
import { mfaErrors } from "./errors.ts";
import { countTokenFailure, findPending, usePending } from "./token-store.ts";
import type { NextStep, PendingRow } from "./token-store.ts";

/** The second step of a sign-in. */
export interface SecondStep {
  mfaToken: string;
  code: string;
  /** `code` is a recovery code. */
  recovery?: boolean | undefined;
}

/** A pending sign-in whose second factor has been verified; the caller opens its session in the same transaction. */
export interface VerifiedSignIn {
  userUuid: string;
  /** In the organization the session would act in. */
  standing: Standing;
  deviceUuid: string | null;
  /** Both steps (RFC 8176). */
  amr: readonly string[];
  /** What the sign-in still has to do. */
  next: NextStep | null;
  /** Type of the event that records the sign-in. */
  event: "login.totp_verify" | "login.recovery_code";
}

/** The challenge that a pending sign-in waits for. */
export function createChallenge(
  { clock, events, people, access }: Pick<MfaDeps, "clock" | "events" | "people" | "access">,
  codes: Codes,
  budgets: Budgets,
) {
  async function refuse(
    tx: Tx,
    step: SecondStep,
    pending: PendingRow | undefined,
    refusal: ServiceError,
    info: RequestInfo,
  ): Promise<ServiceError> {
    await events.emitFailure(tx, EVENTS[eventOf(step)], {
      by: withoutActor(pending?.userUuid ?? null, info),
      orgUuid: pending?.orgUuid ?? null,
      metadata: { code: refusal.code },
    });
    return refusal;
  }

  async function isRight(tx: Tx, { userUuid }: PendingRow, { code, recovery }: SecondStep) {
    if (recovery === true) return codes.useRecoveryCode(tx, userUuid, code);
    return (await codes.useTotp(tx, userUuid, code)) !== undefined;
  }

  /**
   * Verifies the second factor of a pending sign-in and uses its token up. Returns the error of a refused attempt, so
   * that the failure it counts is committed. Locks in the order person, count, token, factor.
   * @throws {unauthorized} when a concurrent attempt has used the token up
   */
  return async function verifyPending(
    tx: Tx,
    step: SecondStep,
    info: RequestInfo,
  ): Promise<VerifiedSignIn | ServiceError> {
    const hash = hashToken(step.mfaToken);
    const now = dateOf(clock);
    const pending = await findPending(tx, hash, now);
    const standing = pending === undefined ? undefined : await access.standing(tx, pending.userUuid, pending.orgUuid);
    const same = standing !== undefined && standing.credentialsVersion === pending?.credentialsVersion;
    if (pending === undefined || !same) return refuse(tx, step, pending, mfaErrors.badToken(), info);
    const { userUuid, orgUuid } = pending;
    const attempt = await budgets.begin(tx, userUuid, "second_factor");
    const present = await findPending(tx, hash, now);
    if (present?.live !== true) return refuse(tx, step, pending, mfaErrors.badToken(), info);
    if (attempt.refusal !== undefined) return refuse(tx, step, pending, attempt.refusal, info);
    if (!(await isRight(tx, pending, step))) {
      await attempt.failed();
      await countTokenFailure(tx, hash);
      const wrong = step.recovery === true ? mfaErrors.wrongRecoveryCode() : mfaErrors.wrongCode();
      return refuse(tx, step, pending, wrong, info);
    }
    if (!(await usePending(tx, hash, now))) throw mfaErrors.badToken();
    await attempt.passed();
    // Whoever came by a provider has proven no mailbox, and may have enrolled the factor themselves.
    if (!pending.amr.includes("fed") && (await people.confirmProven(tx, userUuid)))
      await events.emit(tx, EVENTS["email.confirmed"], {
        by: causedByPerson({ userUuid, email: standing.email }, info),
        orgUuid,
        resourceId: userUuid,
      });
    return {
      userUuid,
      standing,
      deviceUuid: pending.deviceUuid,
      amr: [...new Set([...pending.amr, ...(step.recovery === true ? [] : ["otp"]), "mfa"])],
      next: pending.next,
      event: eventOf(step),
    };
  };
}

function eventOf({ recovery }: SecondStep): VerifiedSignIn["event"] {
  return recovery === true ? "login.recovery_code" : "login.totp_verify";
}
