import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import { constantTimeEqual, hashToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { ServiceError } from "../../platform/errors.ts";
import type { Standing } from "../access/index.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import { personOf } from "../mfa/index.ts";
import type { StepUpDeps } from "./deps.ts";
import { stepUpErrors } from "./errors.ts";
import { demandAnswer, noFactor, provenBy } from "./rules.ts";
import type { StepUpAnswer } from "./rules.ts";
import { consumeChallenge, findChallenge } from "./store.ts";
import type { ChallengeRow, StepUpMethod } from "./store.ts";

/** The token of a step-up. */
export interface Elevated {
  elevatedToken: string;
  /** Seconds. */
  expiresIn: number;
}

/** Result of a password check, and the version of the credentials it applies to. */
export interface PasswordCheck {
  ok: boolean;
  credentialsVersion: number;
}

/** One answer to a challenge. */
export function createAttempt({ clock, events, sessions, mfa, config }: StepUpDeps) {
  async function isRight(
    tx: Tx,
    standing: Standing,
    challenge: ChallengeRow,
    answer: StepUpAnswer,
    password: PasswordCheck | undefined,
  ): Promise<boolean> {
    const given = demandAnswer(challenge.method, answer);
    if (challenge.method === "password")
      return password?.ok === true && password.credentialsVersion === standing.credentialsVersion;
    if (challenge.method === "magic_link")
      return challenge.tokenHash !== null && constantTimeEqual(hashToken(given), challenge.tokenHash);
    // No code is right once the last factor is gone: the answer is refused, and does not count as a failed attempt.
    if (!(await mfa.isRequired(tx, standing.userUuid))) throw noFactor("challenge_id");
    if (answer.recovery === true) return mfa.codes.useRecoveryCode(tx, standing.userUuid, given);
    return (await mfa.codes.useTotp(tx, standing.userUuid, given)) !== undefined;
  }

  /** Notes the proofs in the session, records the step-up and mints the elevated token, which ends with the session. */
  async function elevate(
    tx: Tx,
    context: CallerContext,
    standing: Standing,
    method: StepUpMethod,
    answer: StepUpAnswer,
  ): Promise<Elevated> {
    const { sessionId } = personOf(context.caller);
    const now = dateOf(clock);
    const sessionEnd = await sessions.proofs.markStepUp(tx, sessionId, now);
    if (sessionEnd === undefined) throw errors.unauthorized();
    if (method === "totp") await sessions.proofs.markSecondFactor(tx, sessionId, now);
    const isRecovery = answer.recovery === true && method === "totp";
    await events.emit(tx, EVENTS["step_up.verified"], {
      by: causedBy(context),
      orgUuid: context.caller.orgUuid,
      metadata: { challenge_id: answer.challengeId, method, ...(isRecovery ? { recovery: true } : {}) },
    });
    const minted = await sessions.tokens.mint(tx, {
      standing,
      sessionId,
      amr: provenBy(context.caller, method, answer),
      authTime: now,
      ttlMs: Math.min(config.elevatedMs, sessionEnd.getTime() - now.getTime()),
      elevated: true,
    });
    return { elevatedToken: minted.accessToken, expiresIn: minted.expiresIn };
  }

  /**
   * Runs in one transaction. Returns the error of a refused answer, so that the failure it counts is committed. Locks
   * in the order person, count, challenge, factor; the person by `standing`.
   */
  return async function attempt(
    tx: Tx,
    context: CallerContext,
    standing: Standing,
    answer: StepUpAnswer,
    password: PasswordCheck | undefined,
  ): Promise<Elevated | ServiceError> {
    const { caller } = context;
    const count = await mfa.budgets.begin(tx, standing.userUuid, "step_up");
    const refuse = async (refusal: ServiceError, method?: StepUpMethod): Promise<ServiceError> => {
      await events.emitFailure(tx, EVENTS["step_up.failed"], {
        by: causedBy(context),
        orgUuid: caller.orgUuid,
        metadata: {
          code: refusal.code,
          challenge_id: answer.challengeId,
          ...(method === undefined ? {} : { method }),
        },
      });
      return refusal;
    };
    if (count.refusal !== undefined) return refuse(count.refusal);
    const challenge = await findChallenge(tx, answer.challengeId, personOf(caller).sessionId);
    if (challenge === undefined) throw stepUpErrors.notFound();
    const { method } = challenge;
    const now = dateOf(clock);
    if (challenge.consumedAt !== null) return refuse(stepUpErrors.gone(), method);
    if (challenge.expiresAt <= now) return refuse(stepUpErrors.expired(), method);
    const by = method === "totp" ? "code" : undefined;
    if (!(await isRight(tx, standing, challenge, answer, password))) {
      await count.failed(by);
      return refuse(stepUpErrors.invalidCode(), method);
    }
    if (!(await consumeChallenge(tx, answer.challengeId, now))) throw stepUpErrors.gone();
    await count.passed(by);
    return elevate(tx, context, standing, method, answer);
  };
}
