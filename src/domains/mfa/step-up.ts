import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { constantTimeEqual, hashToken, newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { ServiceError } from "../../platform/errors.ts";
import { actorOf } from "../audit-record/index.ts";
import type { Standing } from "../access/index.ts";
import { settled } from "./budget.ts";
import type { Budgets, Try } from "./budget.ts";
import type { MfaDeps } from "./deps.ts";
import { stepUpErrors } from "./errors.ts";
import type { Judge } from "./judge.ts";
import { stepUpMail } from "./mails.ts";
import { personOf } from "./proof.ts";
import { demandAnswer, demandAnyAnswer, provenBy } from "./step-up-rules.ts";
import type { StepUpAnswer } from "./step-up-rules.ts";
import { hasActiveFactor } from "./store.ts";
import { consumeChallenge, consumeMailed, findChallenge, insertChallenge } from "./step-up-store.ts";
import type { ChallengeRow, StepUpMethod } from "./step-up-store.ts";

/** A challenge that was issued. */
export interface IssuedChallenge {
  challengeId: string;
  method: StepUpMethod;
  expiresAt: Date;
}

/** The token of a step-up. */
export interface Elevated {
  elevatedToken: string;
  /** Seconds. */
  expiresIn: number;
}

/** What a password was found to be, and for which state of the credentials. */
interface PasswordVerdict {
  ok: boolean;
  credentialsVersion: number;
}

/** Step-up (decisions 4.4): proving again who one is, for an elevated token. */
export function createStepUp(deps: MfaDeps, judge: Judge, budgets: Budgets) {
  const { database, clock, random, hasher, audit, people, access, sessions, config } = deps;

  const eventOf = (caller: Caller, info: RequestInfo) => ({
    userUuid: caller.userUuid,
    orgUuid: caller.orgUuid,
    info,
    actor: actorOf(caller),
  });

  async function standingOf(tx: Tx, caller: Caller): Promise<Standing> {
    const standing = await access.standing(tx, personOf(caller), caller.orgUuid);
    if (standing === undefined) throw errors.unauthorized();
    return standing;
  }

  /** Returns the lockout error, if any; asked before a challenge is issued or a password hashed. */
  function blocked(caller: Caller): Promise<ServiceError | undefined> {
    return database.transaction((tx) => budgets.refusal(tx, personOf(caller), "step_up"));
  }

  /** Checks the password outside the transaction that judges; undefined when the challenge asks for none. */
  async function passwordVerdict(
    caller: Caller,
    answer: StepUpAnswer,
    { address }: RequestInfo,
  ): Promise<PasswordVerdict | ServiceError | undefined> {
    if (answer.password === undefined || answer.password === "") return undefined;
    const refusal = await blocked(caller);
    if (refusal !== undefined) return refusal;
    const challenge = await database.transaction((tx) => findChallenge(tx, answer.challengeId, caller.sessionId ?? ""));
    if (challenge?.method !== "password" || challenge.consumed_at !== null) return undefined;
    const person = await people.findPassword(personOf(caller));
    const { ok } = await hasher.verify(person?.password_hash ?? null, answer.password, address);
    return { ok, credentialsVersion: person?.credentials_version ?? 0 };
  }

  async function judged(
    tx: Tx,
    standing: Standing,
    challenge: ChallengeRow,
    answer: StepUpAnswer,
    verdict: PasswordVerdict | undefined,
  ): Promise<boolean> {
    const given = demandAnswer(challenge.method, answer);
    if (challenge.method === "password")
      return verdict?.ok === true && verdict.credentialsVersion === standing.credentialsVersion;
    if (challenge.method === "magic_link")
      return challenge.token_hash !== null && constantTimeEqual(hashToken(given), challenge.token_hash);
    if (answer.recovery === true) return judge.recovery(tx, standing.userUuid, given);
    return (await judge.totp(tx, standing.userUuid, given)) !== undefined;
  }

  /**
   * One answer in one transaction; a refusal is answered, so that what it counts stays. Locks in the order person,
   * count, challenge, factor.
   */
  async function attempt(
    tx: Tx,
    caller: Caller,
    answer: StepUpAnswer,
    verdict: PasswordVerdict | undefined,
    info: RequestInfo,
  ): Promise<Elevated | ServiceError> {
    const sessionId = caller.sessionId ?? "";
    const standing = await standingOf(tx, caller);
    const count = await budgets.begin(tx, standing.userUuid, "step_up");
    const refuse = async (refusal: ServiceError, method?: StepUpMethod): Promise<ServiceError> => {
      const metadata = {
        code: refusal.code,
        challenge_id: answer.challengeId,
        ...(method === undefined ? {} : { method }),
      };
      await audit.record(tx, { ...eventOf(caller, info), type: "step_up.failed", outcome: "failure", metadata });
      return refusal;
    };
    if (count.refusal !== undefined) return refuse(count.refusal);
    const challenge = await findChallenge(tx, answer.challengeId, sessionId);
    if (challenge === undefined) throw stepUpErrors.notFound();
    const { method } = challenge;
    const now = dateOf(clock);
    if (challenge.consumed_at !== null) return refuse(stepUpErrors.gone(), method);
    if (challenge.expires_at <= now) return refuse(stepUpErrors.expired(), method);
    if (!(await judged(tx, standing, challenge, answer, verdict))) {
      await count.failed();
      return refuse(stepUpErrors.invalidCode(), method);
    }
    if (!(await consumeChallenge(tx, answer.challengeId, now))) throw stepUpErrors.gone();
    await count.passed();
    await sessions.proofs.markStepUp(tx, sessionId, now);
    if (method === "totp") await sessions.proofs.markSecondFactor(tx, sessionId, now);
    const metadata = {
      challenge_id: answer.challengeId,
      method,
      ...(answer.recovery === true && method === "totp" ? { recovery: true } : {}),
    };
    await audit.record(tx, { ...eventOf(caller, info), type: "step_up.verified", outcome: "success", metadata });
    const amr = provenBy(caller, method, answer);
    const minted = await sessions.tokens.mint(tx, {
      standing,
      sessionId,
      amr,
      authTime: now,
      ttlMs: config.elevatedMs,
      elevated: true,
    });
    return { elevatedToken: minted.accessToken, expiresIn: minted.expiresIn };
  }

  async function refusedOutright(
    caller: Caller,
    type: "step_up.challenged" | "step_up.failed",
    refusal: ServiceError,
    info: RequestInfo,
    metadata: object,
  ): Promise<never> {
    await audit.recordFailure({ ...eventOf(caller, info), type, metadata: { code: refusal.code, ...metadata } });
    throw refusal;
  }

  return {
    /**
     * Issues a challenge bound to the caller's session; with `magic_link` its token is mailed. Throws 400 `bad_request`
     * for `totp` without an active factor, 429 `too_many_attempts`, 503 `unavailable` for `magic_link` without mail.
     */
    async challenge(caller: Caller, method: StepUpMethod, info: RequestInfo): Promise<IssuedChallenge> {
      const userUuid = personOf(caller);
      if (method === "totp" && !(await database.transaction((tx) => hasActiveFactor(tx, userUuid)))) throw noFactor();
      if (method === "magic_link") people.mails.demandMail();
      const refusal = await blocked(caller);
      if (refusal !== undefined) return refusedOutright(caller, "step_up.challenged", refusal, info, { method });
      const challengeId = random.uuid();
      const mailed = method === "magic_link" ? newOpaqueToken(random) : undefined;
      const lifeMs = mailed === undefined ? config.stepUpMs : config.magicLinkMs;
      const [at, expiresAt] = [dateOf(clock), dateOf(clock, lifeMs)];
      await database.transaction(async (tx) => {
        const standing = await standingOf(tx, caller);
        await insertChallenge(tx, {
          uuid: challengeId,
          userUuid,
          sessionId: caller.sessionId ?? "",
          method,
          tokenHash: mailed?.hash ?? null,
          at,
          expiresAt,
        });
        if (mailed !== undefined) {
          const link = { token: mailed.token, challengeId };
          const write = () => stepUpMail(config.baseUrl, link, Math.ceil(lifeMs / 60_000));
          await people.mails.send(
            tx,
            { to: standing.email, organization: caller.orgName ?? undefined, write },
            expiresAt,
          );
        }
        const metadata = { challenge_id: challengeId, method };
        await audit.record(tx, { ...eventOf(caller, info), type: "step_up.challenged", outcome: "success", metadata });
      }, caller);
      return { challengeId, method, expiresAt };
    },

    /**
     * Answers a challenge. Throws 400 `bad_request` without the input its method asks for, 429 `too_many_attempts`,
     * 404 `not_found`, 410 `challenge_gone`, 400 `expired_challenge`, 400 `invalid_code`.
     */
    async verify(caller: Caller, asked: StepUpAnswer, info: RequestInfo): Promise<Elevated> {
      personOf(caller);
      demandAnyAnswer(asked);
      const answer = { ...asked, challengeId: asked.challengeId.toLowerCase() };
      const verdict = await passwordVerdict(caller, answer, info);
      if (verdict instanceof Error)
        return refusedOutright(caller, "step_up.failed", verdict, info, { challenge_id: answer.challengeId });
      return settled(await database.transaction((tx) => attempt(tx, caller, answer, verdict, info), caller));
    },

    /**
     * The counter for passwords that are asked for outside of a challenge: the refusal somebody gets before theirs is
     * hashed, and the try that judges it.
     */
    counter: {
      refusal: blocked,
      begin: (tx: Tx, userUuid: string): Promise<Try> => budgets.begin(tx, userUuid, "step_up"),
    },

    /**
     * Ends the challenges of a person that wait for the token of a mail; in the transaction that makes it necessary.
     */
    endMailed: (tx: Tx, userUuid: string): Promise<void> => consumeMailed(tx, userUuid, dateOf(clock)),

    /** Whether the token presented is elevated, and until when. */
    status: ({ elevated, expiresAt }: Caller): { elevated: boolean; expiresAt: Date | undefined } => ({
      elevated,
      expiresAt: elevated && expiresAt !== null ? new Date(expiresAt * 1000) : undefined,
    }),
  };
}

function noFactor(): ServiceError {
  const fields = [
    {
      field: "method",
      code: "not_allowed",
      message: "totp needs an active factor; use another method or add a factor",
    },
  ];
  return errors.badRequest({ message: "You have no active factor.", fields });
}
