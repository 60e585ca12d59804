import type { Caller } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import { newOpaqueToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import { emailKeyOf } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import type { ServiceError } from "../../platform/errors.ts";
import { MAILS_PER_EMAIL, spend } from "../../platform/limits/index.ts";
import { certain } from "../../platform/narrow.ts";
import { settled } from "../../platform/outcome.ts";
import type { Standing } from "../access/index.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import { personOf } from "../mfa/index.ts";
import type { Attempt } from "../mfa/index.ts";
import { createAttempt } from "./attempt.ts";
import type { Elevated, PasswordCheck } from "./attempt.ts";
import type { StepUpDeps } from "./deps.ts";
import { stepUpMail } from "./mail.ts";
import { demandAnyAnswer, noFactor, noPassword } from "./rules.ts";
import type { StepUpAnswer } from "./rules.ts";
import { consumeMailed, deleteOldChallenges, findChallenge, insertChallenge, replaceMailed } from "./store.ts";
import type { StepUpMethod } from "./store.ts";

/** A new challenge. */
export interface IssuedChallenge {
  challengeId: string;
  method: StepUpMethod;
  expiresAt: Date;
}

/** Step-up (decisions 4.4): a new proof of who one is, for an elevated token. */
export function createStepUp(deps: StepUpDeps) {
  const { database, clock, random, hasher, events, people, access, mfa, limiter, config } = deps;
  const attempt = createAttempt(deps);

  async function standingOf(tx: Tx, caller: Caller): Promise<Standing> {
    const standing = await access.standing(tx, personOf(caller).userUuid, caller.orgUuid);
    if (standing === undefined) throw errors.unauthorized();
    return standing;
  }

  /** Returns the lockout error, if any; asked before a challenge is issued or a password hashed. */
  async function lockoutOf(caller: Caller): Promise<ServiceError | undefined> {
    const { userUuid } = personOf(caller);
    return database.transaction((tx) => mfa.budgets.refusal(tx, userUuid, "step_up"));
  }

  /** Checks the password outside the transaction of the attempt; undefined when the challenge asks for none. */
  async function checkPassword(
    { caller, info }: CallerContext,
    answer: StepUpAnswer,
  ): Promise<PasswordCheck | ServiceError | undefined> {
    if (answer.password === undefined || answer.password === "") return undefined;
    const lockout = await lockoutOf(caller);
    if (lockout !== undefined) return lockout;
    const { userUuid, sessionId } = personOf(caller);
    const challenge = await database.transaction((tx) => findChallenge(tx, answer.challengeId, sessionId));
    if (challenge?.method !== "password" || challenge.consumedAt !== null) return undefined;
    const person = await people.findPassword(userUuid);
    const { ok } = await hasher.verify(person?.passwordHash ?? null, answer.password, info.address);
    return { ok, credentialsVersion: person?.credentialsVersion ?? 0 };
  }

  async function refuse(
    context: CallerContext,
    type: "step_up.challenged" | "step_up.failed",
    refusal: ServiceError,
    metadata: object,
  ): Promise<never> {
    await events.recordFailure(EVENTS[type], {
      by: causedBy(context),
      orgUuid: context.caller.orgUuid,
      metadata: { code: refusal.code, ...metadata },
    });
    throw refusal;
  }

  return {
    /**
     * Issues a challenge bound to the caller's session; with `magic_link` its token is mailed, and it replaces the
     * session's unanswered ones.
     * @throws {bad_request} for `totp` when the caller has no active factor, for `password` when they have none
     * @throws {too_many_attempts} while the person is locked out
     * @throws {rate_limited} for `magic_link` when the mail budget of the address is used up
     * @throws {unavailable} for `magic_link` when mail is off
     */
    async challenge(context: CallerContext, method: StepUpMethod): Promise<IssuedChallenge> {
      const { caller } = context;
      const { userUuid, sessionId } = personOf(caller);
      if (method === "totp" && !(await database.transaction((tx) => mfa.isRequired(tx, userUuid))))
        throw noFactor("method");
      if (method === "password" && !(await people.findPassword(userUuid))?.passwordHash) throw noPassword();
      if (method === "magic_link") people.mails.demandMail();
      const lockout = await lockoutOf(caller);
      if (lockout !== undefined) return refuse(context, "step_up.challenged", lockout, { method });
      if (method === "magic_link")
        await spend(limiter, MAILS_PER_EMAIL, emailKeyOf(certain(caller.email, "address of a person")));
      const challengeId = random.uuid();
      const mailed = method === "magic_link" ? newOpaqueToken(random) : undefined;
      const lifeMs = mailed === undefined ? config.stepUpMs : config.magicLinkMs;
      const [at, expiresAt] = [dateOf(clock), dateOf(clock, lifeMs)];
      await context.transaction(async (tx) => {
        const standing = await standingOf(tx, caller);
        const tokenHash = mailed?.hash ?? null;
        if (mailed !== undefined) await replaceMailed(tx, sessionId, at);
        await insertChallenge(tx, { uuid: challengeId, userUuid, sessionId, method, tokenHash, at, expiresAt });
        if (mailed !== undefined) {
          const link = { token: mailed.token, challengeId };
          const write = () => stepUpMail(config.baseUrl, link, Math.ceil(lifeMs / 60_000));
          const mail = { to: standing.email, organization: caller.orgName ?? undefined, write };
          await people.mails.send(tx, mail, expiresAt);
        }
        await events.emit(tx, EVENTS["step_up.challenged"], {
          by: causedBy(context),
          orgUuid: caller.orgUuid,
          metadata: { challenge_id: challengeId, method },
        });
      });
      return { challengeId, method, expiresAt };
    },

    /**
     * Answers a challenge.
     * @throws {bad_request} when the input of its method is missing, or the factor it asks for was deleted
     * @throws {too_many_attempts} while the person is locked out
     * @throws {not_found} when the session has no such challenge
     * @throws {challenge_gone} when it was answered; this does not count as a failed attempt
     * @throws {expired_challenge} when it has expired; this does not count as a failed attempt
     * @throws {invalid_code} when the answer is wrong
     */
    async verify(context: CallerContext, given: StepUpAnswer): Promise<Elevated> {
      personOf(context.caller);
      demandAnyAnswer(given);
      const answer = { ...given, challengeId: given.challengeId.toLowerCase() };
      const password = await checkPassword(context, answer);
      if (password instanceof Error)
        return refuse(context, "step_up.failed", password, { challenge_id: answer.challengeId });
      const outcome = await context.transaction(async (tx) =>
        attempt(tx, context, await standingOf(tx, context.caller), answer, password),
      );
      return settled(outcome);
    },

    /** The failure count for passwords that are asked for outside of a challenge. */
    counter: {
      /** Returns the lockout error, if any; asked before the password is hashed. */
      refusal: lockoutOf,
      begin: (tx: Tx, userUuid: string): Promise<Attempt> => mfa.budgets.begin(tx, userUuid, "step_up"),
    },

    /** Ends a person's open challenges by mail, in the transaction that makes it necessary. */
    endMailed: (tx: Tx, userUuid: string): Promise<void> => consumeMailed(tx, userUuid, dateOf(clock)),

    /** Whether the caller's token is elevated, and until when. */
    status({ caller: { elevated, expiresAt } }: CallerContext): { elevated: boolean; expiresAt: Date | undefined } {
      return { elevated, expiresAt: elevated && expiresAt !== null ? new Date(expiresAt * 1000) : undefined };
    },

    // Challenges that expired more than a day ago.
    tidy: { stepUpChallenges: () => deleteOldChallenges(database.background, dateOf(clock)) },
  };
}

/** Step-up as other domains see it. */
export type StepUp = ReturnType<typeof createStepUp>;
