import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { generateTotpSecret, otpauthUri } from "../../platform/crypto/totp.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { ServiceError } from "../../platform/errors.ts";
import { actorOf } from "../audit-record/index.ts";
import { settled } from "./budget.ts";
import type { Budgets } from "./budget.ts";
import type { MfaDeps } from "./deps.ts";
import { mfaErrors } from "./errors.ts";
import { secretContext } from "./judge.ts";
import type { Judge } from "./judge.ts";
import { personOf } from "./proof.ts";
import type { RecentProof } from "./proof.ts";
import { factorMail, NOTICE_MS } from "./mails.ts";
import { mostFactors } from "./rules.ts";
import * as store from "./store.ts";
import type { FactorRow } from "./store.ts";

/** Name authenticator apps show for a session that acts in no organization. */
const serviceName = "Atrium";

/** A factor that has just been made; the only time its secret is shown. */
export interface NewFactor {
  id: number;
  userId: number;
  label: string | null;
  /** base32. */
  secret: string;
  otpauthUri: string;
  createdAt: Date;
}

/** A person's own factors (decisions 4.1). All throw 403 `step_up_required` as `RecentProof.demand` does. */
export function createFactors(deps: MfaDeps, judge: Judge, budgets: Budgets, proof: RecentProof) {
  const { database, clock, random, sealer, audit, announce, people, access, sessions } = deps;

  function event(caller: Caller, info: RequestInfo, type: "mfa.enrolled" | "mfa.disabled", id: number) {
    const { userUuid, orgUuid } = caller;
    return { type, userUuid, orgUuid, info, actor: actorOf(caller), resource: { type: "mfa_factor", id: String(id) } };
  }

  /** Tells organizations; factors that never were active are nobody's concern. */
  async function tell(
    tx: Tx,
    organizations: readonly string[],
    type: "mfa.enrolled" | "mfa.disabled",
    data: { factor_id: number; factor_type: string; user_uuid: string; reason?: string },
  ): Promise<void> {
    for (const orgUuid of organizations) await announce(tx, { type, orgUuid, data });
  }

  /** Tells the person by mail. */
  async function notify(tx: Tx, { email, orgName }: Caller, change: "enrolled" | "disabled"): Promise<void> {
    if (email === null) return;
    const write = () => factorMail(change);
    await people.mails.send(tx, { to: email, organization: orgName ?? undefined, write }, dateOf(clock, NOTICE_MS));
  }

  return {
    /** The caller's factors, pending and active. */
    list: (caller: Caller): Promise<FactorRow[]> => store.factorsOf(database, personOf(caller)),

    /** Whether the caller has an active factor and unused recovery codes. */
    async status(caller: Caller): Promise<{ hasActiveTotp: boolean; hasRecoveryCodes: boolean }> {
      const { active, codes } = await store.factorStatus(database, personOf(caller));
      return { hasActiveTotp: active, hasRecoveryCodes: codes };
    },

    /** Makes a pending factor. Throws 422 `unprocessable` beyond ten. */
    async create(caller: Caller, label: string | undefined): Promise<NewFactor> {
      const userUuid = personOf(caller);
      const secret = generateTotpSecret(random);
      const name = label === undefined || label.trim() === "" ? null : label.trim();
      const createdAt = dateOf(clock);
      return database.transaction(async (tx) => {
        await people.lock(tx, userUuid);
        await proof.demandToEnrol(tx, caller);
        const person = await access.standing(tx, userUuid, null);
        if (person === undefined) throw new Error("a caller's person is gone");
        if ((await store.countFactors(tx, userUuid)) >= mostFactors) throw mfaErrors.tooManyFactors();
        const id = await store.insertFactor(
          tx,
          userUuid,
          name,
          sealer.seal(secret, secretContext(userUuid)),
          createdAt,
        );
        const uri = otpauthUri({
          issuer: caller.orgName ?? serviceName,
          account: person.email,
          secret,
          label: name ?? undefined,
        });
        return { id, userId: person.id, label: name, secret, otpauthUri: uri, createdAt };
      }, caller);
    },

    /**
     * Activates a pending factor with a code of it, which is a proof of the second factor too. Throws 404 `not_found`
     * for any other factor, 429 `too_many_attempts`, 401 `unauthorized` for a wrong code.
     */
    async verify(
      caller: Caller,
      id: number,
      code: string,
      info: RequestInfo,
    ): Promise<{ id: number; activatedAt: Date }> {
      const userUuid = personOf(caller);
      const at = dateOf(clock);
      const outcome = await database.transaction(async (tx): Promise<ServiceError | Date> => {
        await people.lock(tx, userUuid);
        await proof.demandToEnrol(tx, caller);
        const factor = await store.findFactor(tx, userUuid, id);
        if (factor?.status !== "pending") throw mfaErrors.notPending();
        const attempt = await budgets.begin(tx, userUuid, "second_factor");
        const refusal =
          attempt.refusal ?? ((await judge.activation(tx, userUuid, factor, code)) ? undefined : mfaErrors.wrongCode());
        if (refusal !== undefined) {
          if (attempt.refusal === undefined) await attempt.failed();
          await audit.record(tx, {
            ...event(caller, info, "mfa.enrolled", id),
            outcome: "failure",
            metadata: { code: refusal.code, factor_id: id },
          });
          return refusal;
        }
        await attempt.passed();
        await sessions.proofs.markSecondFactor(tx, caller.sessionId ?? "", at);
        await audit.record(tx, {
          ...event(caller, info, "mfa.enrolled", id),
          outcome: "success",
          metadata: { factor_id: id, factor_type: "totp" },
        });
        await tell(tx, actsIn(caller), "mfa.enrolled", { factor_id: id, factor_type: "totp", user_uuid: userUuid });
        await notify(tx, caller, "enrolled");
        return at;
      }, caller);
      return { id, activatedAt: settled(outcome) };
    },

    /** Disables a factor; with the last active one the recovery codes are void. Throws 404 `not_found`. */
    async remove(caller: Caller, id: number, info: RequestInfo): Promise<void> {
      const userUuid = personOf(caller);
      await database.transaction(async (tx) => {
        await people.lock(tx, userUuid);
        await proof.demand(tx, caller);
        const factor = await store.findFactor(tx, userUuid, id);
        if (factor === undefined || !(await store.disableFactor(tx, id, dateOf(clock)))) throw mfaErrors.noFactor();
        const last = !(await store.hasActiveFactor(tx, userUuid));
        if (last) await store.dropRecoveryCodes(tx, userUuid);
        const metadata = { factor_id: id, factor_type: "totp", was: factor.status, last };
        await audit.record(tx, { ...event(caller, info, "mfa.disabled", id), outcome: "success", metadata });
        if (factor.status !== "active") return;
        await tell(tx, actsIn(caller), "mfa.disabled", { factor_id: id, factor_type: "totp", user_uuid: userUuid });
        await notify(tx, caller, "disabled");
      }, caller);
    },

    /**
     * Disables every factor of a person and voids their recovery codes, in the transaction of what makes that
     * necessary. The person's row must be locked.
     * @returns how many factors there were
     */
    async endAll(tx: Tx, userUuid: string, reason: string, info: RequestInfo): Promise<number> {
      const disabled = await store.disableAll(tx, userUuid, dateOf(clock));
      const organizations = disabled.length === 0 ? [] : await people.memberships.organizationsOf(tx, userUuid);
      for (const { id, status } of disabled) {
        const metadata = { factor_id: id, factor_type: "totp", was: status, reason };
        const resource = { type: "mfa_factor", id: String(id) };
        for (const orgUuid of organizations.length === 0 ? [null] : organizations)
          await audit.record(tx, {
            type: "mfa.disabled",
            outcome: "success",
            userUuid,
            orgUuid,
            info,
            resource,
            metadata,
          });
        if (status === "active")
          await tell(tx, organizations, "mfa.disabled", {
            factor_id: id,
            factor_type: "totp",
            user_uuid: userUuid,
            reason,
          });
      }
      await store.dropRecoveryCodes(tx, userUuid);
      return disabled.length;
    },
  };
}

/** A person's own factors. */
export type Factors = ReturnType<typeof createFactors>;

/** The organization of the caller's session, if it is in one. */
function actsIn({ orgUuid }: Caller): string[] {
  return orgUuid === null ? [] : [orgUuid];
}
