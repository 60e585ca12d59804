import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { hashToken } from "../../platform/crypto/opaque.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { ServiceError } from "../../platform/errors.ts";
import type { Standing } from "../access/index.ts";
import { personActor } from "../audit-record/index.ts";
import type { OpenedPair } from "../sessions/index.ts";
import { settled } from "./budget.ts";
import type { Budgets } from "./budget.ts";
import type { MfaDeps } from "./deps.ts";
import { mfaErrors } from "./errors.ts";
import type { Judge } from "./judge.ts";
import { countTokenFailure, findPending, usePending } from "./token-store.ts";
import type { PendingRow } from "./token-store.ts";

/** The second step of a sign-in. */
export interface SecondStep {
  mfaToken: string;
  code: string;
  /** `code` is a recovery code. */
  recovery?: boolean | undefined;
}

/** The challenge that completes a sign-in. */
export function createChallenge(
  { database, clock, audit, people, access, sessions, continuations }: MfaDeps,
  judge: Judge,
  budgets: Budgets,
) {
  async function refuse(
    tx: Tx,
    step: SecondStep,
    pending: PendingRow | undefined,
    refusal: ServiceError,
    info: RequestInfo,
  ): Promise<ServiceError> {
    const who = { userUuid: pending?.user_uuid ?? null, orgUuid: pending?.org_uuid ?? null };
    await audit.record(tx, { type: typeOf(step), outcome: "failure", ...who, info, metadata: { code: refusal.code } });
    return refusal;
  }

  /**
   * One try in one transaction; a refusal is answered, so that what it counts stays. Locks in the order person, count,
   * token, factor.
   */
  async function attempt(tx: Tx, step: SecondStep, info: RequestInfo): Promise<OpenedPair | ServiceError> {
    const hash = hashToken(step.mfaToken);
    const now = dateOf(clock);
    const pending = await findPending(tx, hash, now);
    const standing = pending === undefined ? undefined : await access.standing(tx, pending.user_uuid, pending.org_uuid);
    const same = standing !== undefined && standing.credentialsVersion === pending?.credentials_version;
    if (pending === undefined || !same) return refuse(tx, step, pending, mfaErrors.badToken(), info);
    const count = await budgets.begin(tx, pending.user_uuid, "second_factor");
    const present = await findPending(tx, hash, now);
    if (present?.live !== true) return refuse(tx, step, pending, mfaErrors.badToken(), info);
    if (count.refusal !== undefined) return refuse(tx, step, pending, count.refusal, info);
    const right =
      step.recovery === true
        ? await judge.recovery(tx, pending.user_uuid, step.code)
        : (await judge.totp(tx, pending.user_uuid, step.code)) !== undefined;
    if (!right) {
      await count.failed();
      await countTokenFailure(tx, hash);
      return refuse(tx, step, pending, mfaErrors.wrongCode(), info);
    }
    if (!(await usePending(tx, hash, now))) throw mfaErrors.badToken();
    await count.passed();
    if (await people.confirmProven(tx, pending.user_uuid)) {
      const { user_uuid: userUuid, org_uuid: orgUuid } = pending;
      const resource = { type: "user", id: userUuid };
      await audit.record(tx, {
        type: "email.confirmed",
        outcome: "success",
        userUuid,
        orgUuid,
        info,
        actor: personActor(userUuid, standing.email),
        resource,
      });
    }
    return open(tx, step, pending, standing, info);
  }

  async function open(
    tx: Tx,
    step: SecondStep,
    pending: PendingRow,
    before: Standing,
    info: RequestInfo,
  ): Promise<OpenedPair> {
    const standing = pending.continuation === null ? before : await complete(tx, pending, pending.continuation, info);
    const amr = [...new Set([...pending.amr, ...(step.recovery === true ? [] : ["otp"]), "mfa"])];
    const device = { ...info, deviceUuid: info.deviceUuid ?? pending.device_uuid ?? undefined };
    const opened = await sessions.open.pair(tx, { standing, amr, info: device, secondFactor: true });
    const metadata = { session_id: opened.sessionId };
    await audit.record(tx, {
      type: typeOf(step),
      outcome: "success",
      userUuid: standing.userUuid,
      orgUuid: standing.org?.uuid ?? null,
      info,
      metadata,
    });
    return opened;
  }

  async function complete(
    tx: Tx,
    pending: PendingRow,
    { name, payload }: NonNullable<PendingRow["continuation"]>,
    info: RequestInfo,
  ): Promise<Standing> {
    const continuation = continuations[name];
    if (continuation === undefined) throw new Error(`no continuation is called ${name}`);
    const org = await continuation(tx, { userUuid: pending.user_uuid, payload }, info);
    await tx.em.flush();
    const standing = await access.standing(tx, pending.user_uuid, org);
    if (standing === undefined) throw mfaErrors.badToken();
    return standing;
  }

  /**
   * Opens the session of a sign-in that waits, with a token pair. Throws 401 `unauthorized` for a wrong code (the fifth
   * ends the token) and for a token that is unknown, used, expired or worn out; 429 `too_many_attempts`.
   */
  return async function challenge(step: SecondStep, info: RequestInfo): Promise<OpenedPair> {
    return settled(await database.transaction((tx) => attempt(tx, step, info), info));
  };
}

function typeOf({ recovery }: SecondStep): "login.totp_verify" | "login.recovery_code" {
  return recovery === true ? "login.recovery_code" : "login.totp_verify";
}
