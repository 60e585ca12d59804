import type { Caller } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import { generateTotpSecret, otpauthUri } from "../../platform/crypto/totp.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { ServiceError } from "../../platform/errors.ts";
import { settled } from "../../platform/outcome.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Cause } from "../event-catalogue/index.ts";
import type { Budgets } from "./budget.ts";
import { forgetWrongCodes } from "./budget-store.ts";
import type { CountChange } from "./change-budget.ts";
import { secretContext } from "./codes.ts";
import type { Codes } from "./codes.ts";
import type { MfaDeps } from "./deps.ts";
import { mfaErrors } from "./errors.ts";
import { factorMail, NOTICE_MS } from "./mails.ts";
import type { RecentProof } from "./proof.ts";
import { ABANDONED_MS, MAX_FACTORS, personOf } from "./rules.ts";
import * as store from "./store.ts";
import type { FactorRow } from "./store.ts";

/** Issuer that authenticator apps show for a session without an organization. */
const SERVICE_NAME = "Atrium";

/** A new factor, the only time its secret is shown. */
export interface NewFactor {
  id: number;
  userId: number;
  label: string | null;
  /** base32. */
  secret: string;
  otpauthUri: string;
  createdAt: Date;
}

/** A person's own factors (decisions 4.1). All changes throw `step_up_required` as `RecentProof` does. */
export function createFactors(
  deps: MfaDeps,
  codes: Codes,
  budgets: Budgets,
  proof: RecentProof,
  countChange: CountChange,
) {
  const { database, clock, random, sealer, events, people, access, sessions } = deps;

  const eventOf = (context: CallerContext, id: number) => ({
    by: causedBy(context),
    orgUuid: context.caller.orgUuid,
    resourceId: String(id),
  });

  /** Notifies the person by mail. */
  async function notify(tx: Tx, { email, orgName }: Caller, change: "enrolled" | "disabled"): Promise<void> {
    if (email === null) return;
    const write = () => factorMail(change);
    await people.mails.send(tx, { to: email, organization: orgName ?? undefined, write }, dateOf(clock, NOTICE_MS));
  }

  return {
    /** The caller's factors, pending and active. */
    list: ({ caller }: CallerContext): Promise<FactorRow[]> => store.factorsOf(database, personOf(caller).userUuid),

    /** Whether the caller has an active factor and unused recovery codes. */
    async status({ caller }: CallerContext): Promise<{ hasActiveTotp: boolean; hasRecoveryCodes: boolean }> {
      const { active, codes: unused } = await store.factorStatus(database, personOf(caller).userUuid);
      return { hasActiveTotp: active, hasRecoveryCodes: unused };
    },

    /**
     * Creates a pending factor; counts as a change, since its first code makes it active. Where the person has the
     * maximum number, pending ones that were abandoned make room.
     * @throws {unprocessable} when the caller has the maximum number of factors
     * @throws {rate_limited} after too many changes
     */
    async create(context: CallerContext, label: string | undefined): Promise<NewFactor> {
      const { caller } = context;
      const { userUuid } = personOf(caller);
      const secret = generateTotpSecret(random);
      const name = label === undefined || label.trim() === "" ? null : label.trim();
      const createdAt = dateOf(clock);
      const since = dateOf(clock, -ABANDONED_MS);
      const isFull = async (tx: Tx) => (await store.countFactors(tx, userUuid, since)) >= MAX_FACTORS;
      await countChange(userUuid, async (tx) => !(await isFull(tx)));
      return context.transaction(async (tx) => {
        await people.lock(tx, userUuid);
        await proof.demandToEnrol(tx, caller);
        const person = await access.standing(tx, userUuid, null);
        if (person === undefined) throw new Error("a caller's person is gone");
        if (await isFull(tx)) throw mfaErrors.tooManyFactors();
        for (const id of await store.disableAbandoned(tx, userUuid, since, MAX_FACTORS, createdAt))
          await events.emit(tx, EVENTS["mfa.disabled"], {
            ...eventOf(context, id),
            metadata: { factor_id: id, factor_type: "totp", was: "pending", reason: "abandoned", last: false },
          });
        const sealed = sealer.seal(secret, secretContext(userUuid));
        const id = await store.insertFactor(tx, userUuid, name, sealed, createdAt);
        const uri = otpauthUri({
          issuer: caller.orgName ?? SERVICE_NAME,
          account: person.email,
          secret,
          label: name ?? undefined,
        });
        return { id, userId: person.id, label: name, secret, otpauthUri: uri, createdAt };
      });
    },

    /**
     * Activates a pending factor with a code of it, which also is a proof of the second factor.
     * @throws {not_found} when the caller has no such pending factor
     * @throws {too_many_attempts} while the person is locked out
     * @throws {unauthorized} when the code is wrong
     */
    async verify(context: CallerContext, id: number, code: string): Promise<{ id: number; activatedAt: Date }> {
      const { caller } = context;
      const { userUuid, sessionId } = personOf(caller);
      const at = dateOf(clock);
      const outcome = await context.transaction(async (tx): Promise<ServiceError | Date> => {
        await people.lock(tx, userUuid);
        await proof.demandToEnrol(tx, caller);
        const factor = await store.findFactor(tx, userUuid, id);
        if (factor?.status !== "pending") throw mfaErrors.notPending();
        const attempt = await budgets.begin(tx, userUuid, "second_factor");
        const refusal =
          attempt.refusal ?? ((await codes.activate(tx, userUuid, factor, code)) ? undefined : mfaErrors.wrongCode());
        if (refusal !== undefined) {
          if (attempt.refusal === undefined) await attempt.failed();
          const metadata = { code: refusal.code, factor_id: id };
          await events.emitFailure(tx, EVENTS["mfa.enrolled"], { ...eventOf(context, id), metadata });
          return refusal;
        }
        await attempt.passed();
        await sessions.proofs.markSecondFactor(tx, sessionId, at);
        await events.emit(tx, EVENTS["mfa.enrolled"], {
          ...eventOf(context, id),
          metadata: { factor_id: id, factor_type: "totp" },
          data: { factor_id: id, factor_type: "totp", user_uuid: userUuid },
        });
        await notify(tx, caller, "enrolled");
        return at;
      });
      return { id, activatedAt: settled(outcome) };
    },

    /**
     * Disables a factor; with the last active one the recovery codes become void.
     * @throws {not_found} when the caller has no such factor
     * @throws {rate_limited} after too many changes
     */
    async remove(context: CallerContext, id: number): Promise<void> {
      const { caller } = context;
      const { userUuid } = personOf(caller);
      await countChange(userUuid, async (tx) => (await store.findFactor(tx, userUuid, id))?.status === "active");
      await context.transaction(async (tx) => {
        await people.lock(tx, userUuid);
        await proof.demand(tx, caller);
        const factor = await store.findFactor(tx, userUuid, id);
        if (factor === undefined || !(await store.disableFactor(tx, id, dateOf(clock)))) throw mfaErrors.noFactor();
        const last = !(await store.hasActiveFactor(tx, userUuid));
        if (last) await endSecondFactor(tx, userUuid);
        const wasActive = factor.status === "active";
        await events.emit(tx, EVENTS["mfa.disabled"], {
          ...eventOf(context, id),
          metadata: { factor_id: id, factor_type: "totp", was: factor.status, last },
          data: wasActive ? { factor_id: id, factor_type: "totp", user_uuid: userUuid } : undefined,
        });
        if (wasActive) await notify(tx, caller, "disabled");
      });
    },

    /**
     * Disables every factor of a person and voids their recovery codes, in the transaction of what makes that
     * necessary. The person's row must be locked. Webhooks receive the end of active factors alone.
     * @returns the number of factors
     */
    async endAll(tx: Tx, userUuid: string, reason: string, by: Cause): Promise<number> {
      const disabled = await store.disableAll(tx, userUuid, dateOf(clock));
      const organizations = disabled.length === 0 ? [] : await people.memberships.organizationsOf(tx, userUuid);
      for (const { id, status } of disabled) {
        const data = { factor_id: id, factor_type: "totp", user_uuid: userUuid, reason };
        for (const orgUuid of organizations.length === 0 ? [null] : organizations)
          await events.emit(tx, EVENTS["mfa.disabled"], {
            by,
            orgUuid,
            userUuid,
            resourceId: String(id),
            metadata: { factor_id: id, factor_type: "totp", was: status, reason },
            data: status === "active" ? data : undefined,
          });
      }
      await endSecondFactor(tx, userUuid);
      return disabled.length;
    },
  };
}

/** Ends what belongs to a person's factors together, the last of which is gone. */
async function endSecondFactor(tx: Tx, userUuid: string): Promise<void> {
  await store.dropRecoveryCodes(tx, userUuid);
  await forgetWrongCodes(tx, userUuid);
}

/** A person's own factors. */
export type Factors = ReturnType<typeof createFactors>;
