import type { RequestInfo } from "../../platform/caller.ts";
import type { RequestContext } from "../../platform/context.ts";
import type { Tx } from "../../platform/db/types.ts";
import { ServiceError } from "../../platform/errors.ts";
import { settled } from "../../platform/outcome.ts";
import type { Standing } from "../access/index.ts";
import { EVENTS, withoutActor } from "../event-catalogue/index.ts";
import { mfaErrors } from "../mfa/index.ts";
import type { SecondStep, VerifiedSignIn } from "../mfa/index.ts";
import type { Inherited, OpenedPair } from "../sessions/index.ts";
import type { LoginDeps } from "./deps.ts";
import { createSsoRefusals } from "./sso-refusal.ts";

/** What a sign-in still had to do when it asked for the second factor, in the transaction that opens the session. */
export interface ResumedStep {
  /** Returns the organization the session acts in. An error undoes the challenge: no code is used up. */
  resume: (
    tx: Tx,
    userUuid: string,
    payload: Readonly<Record<string, unknown>>,
    info: RequestInfo,
  ) => Promise<string | null>;
  /** Returns what the session has from the session or the provider that began this; `org` is the result of `resume`. */
  inherited?: (
    tx: Tx,
    payload: Readonly<Record<string, unknown>>,
    org: string | null,
  ) => Inherited | Promise<Inherited>;
  /** Called once the session is open. */
  opened?: (tx: Tx, sessionId: string, payload: Readonly<Record<string, unknown>>) => void;
}

/** Sign-ins completed by a second factor. `steps`: sign-in steps resumed after MFA, keyed by their stored name. */
export function createSecondFactorLogin(
  { events, access, sessions, mfa }: Pick<LoginDeps, "events" | "access" | "sessions" | "mfa">,
  steps: Readonly<Record<string, ResumedStep>>,
) {
  const ssoRefusals = createSsoRefusals({ events });

  async function resume(
    tx: Tx,
    { userUuid, next, standing: before }: VerifiedSignIn,
    info: RequestInfo,
  ): Promise<Standing> {
    if (next === null) return before;
    const step = steps[next.name];
    if (step === undefined) throw new Error(`no sign-in step is called ${next.name}`);
    const org = await step.resume(tx, userUuid, next.payload, info);
    await tx.em.flush();
    const standing = await access.standing(tx, userUuid, org);
    if (standing === undefined) throw mfaErrors.badToken();
    return standing;
  }

  async function open(tx: Tx, verified: VerifiedSignIn, info: RequestInfo): Promise<OpenedPair> {
    const standing = await resume(tx, verified, info);
    const step = verified.next === null ? undefined : steps[verified.next.name];
    const org = standing.org?.uuid ?? null;
    const inherited = verified.next === null ? undefined : await step?.inherited?.(tx, verified.next.payload, org);
    const opened = await sessions.open.pair(tx, {
      standing,
      amr: verified.amr,
      info: { ...info, deviceUuid: info.deviceUuid ?? verified.deviceUuid ?? undefined },
      secondFactor: true,
      ...inherited,
    });
    if (verified.next !== null) step?.opened?.(tx, opened.sessionId, verified.next.payload);
    await events.emit(tx, EVENTS[verified.event], {
      by: withoutActor(standing.userUuid, info),
      orgUuid: org,
      metadata: { session_id: opened.sessionId },
    });
    return opened;
  }

  /**
   * Completes a sign-in that waits for the second factor: opens its session, with a token pair.
   * @throws {unauthorized} when the code is wrong (the fifth wrong one ends the token), or the token is unknown, used,
   * expired or ended
   * @throws {too_many_attempts} while the person is locked out
   */
  return async function completeSignIn(context: RequestContext, step: SecondStep): Promise<OpenedPair> {
    const { info } = context;
    let waiting: VerifiedSignIn | undefined;
    const work = context.transaction(async (tx): Promise<OpenedPair | ServiceError> => {
      const verified = await mfa.verifyPending(tx, step, info);
      if (verified instanceof ServiceError) return verified;
      waiting = verified;
      return open(tx, verified, info);
    });
    const outcome = await ssoRefusals(work, info, async () => ({
      event: waiting?.event ?? "login.totp_verify",
      userUuid: waiting?.userUuid ?? null,
      orgUuid: waiting?.standing.org?.uuid ?? null,
    }));
    return settled(outcome);
  };
}
