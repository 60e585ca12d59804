import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { actorOf } from "../audit-record/index.ts";
import type { MfaDeps } from "./deps.ts";
import { mfaErrors } from "./errors.ts";
import { hashRecoveryCode, recoveryContext } from "./judge.ts";
import { factorMail, NOTICE_MS } from "./mails.ts";
import { personOf } from "./proof.ts";
import type { RecentProof } from "./proof.ts";
import { codesPerGeneration } from "./rules.ts";
import * as store from "./store.ts";
import type { RecoveryCodeRow } from "./store.ts";

/** Crockford's base32: no letters that look like others. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const groups = 5;
const perGroup = 4;

/** Recovery codes: for the day the authenticator is gone. */
export function createRecoveryCodes({ database, clock, random, sealer, audit, people }: MfaDeps, proof: RecentProof) {
  /** 20 characters of 5 bits in groups of four: 100 bits. */
  function newCode(): string {
    const characters = [...random.bytes(groups * perGroup)].map((byte) => alphabet.charAt(byte & 31)).join("");
    return Array.from({ length: groups }, (_, at) => characters.slice(at * perGroup, (at + 1) * perGroup)).join("-");
  }

  return {
    /** The present generation of the caller's codes, never the codes themselves. */
    list: (caller: Caller): Promise<RecoveryCodeRow[]> => store.recoveryCodesOf(database, personOf(caller)),

    /**
     * Ten new codes, shown here only; the old ones are void. Throws 409 `conflict` without an active factor,
     * 403 `step_up_required` without a recent proof of the second factor.
     */
    async regenerate(caller: Caller, info: RequestInfo): Promise<string[]> {
      const userUuid = personOf(caller);
      const codes = Array.from({ length: codesPerGeneration }, newCode);
      const key = random.bytes(32);
      const hashes = codes.map((code) => hashRecoveryCode(key, code));
      await database.transaction(async (tx) => {
        await people.lock(tx, userUuid);
        if (!(await store.hasActiveFactor(tx, userUuid))) throw mfaErrors.noActiveFactor();
        await proof.demand(tx, caller);
        await store.dropRecoveryCodes(tx, userUuid);
        await store.insertRecoveryCodes(
          tx,
          userUuid,
          sealer.seal(key, recoveryContext(userUuid)),
          hashes,
          dateOf(clock),
        );
        const event = {
          type: "recovery_codes.regenerated",
          outcome: "success",
          userUuid,
          orgUuid: caller.orgUuid,
          info,
        } as const;
        await audit.record(tx, { ...event, actor: actorOf(caller), resource: { type: "user", id: userUuid } });
        if (caller.email === null) return;
        const letter = {
          to: caller.email,
          organization: caller.orgName ?? undefined,
          write: () => factorMail("codes"),
        };
        await people.mails.send(tx, letter, dateOf(clock, NOTICE_MS));
      }, caller);
      return codes;
    },
  };
}
