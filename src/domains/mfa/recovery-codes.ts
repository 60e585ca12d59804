import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { CountChange } from "./change-budget.ts";
import { hashRecoveryCode, recoveryContext } from "./codes.ts";
import type { MfaDeps } from "./deps.ts";
import { mfaErrors } from "./errors.ts";
import { factorMail, NOTICE_MS } from "./mails.ts";
import type { RecentProof } from "./proof.ts";
import { CODES_PER_GENERATION, personOf } from "./rules.ts";
import * as store from "./store.ts";
import type { RecoveryCodeRow } from "./store.ts";

/** Crockford's base32: no letters that look alike. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const GROUPS = 5;
const CHARACTERS_PER_GROUP = 4;

/** Recovery codes, for a person who has lost their authenticator. */
export function createRecoveryCodes(
  { database, clock, random, sealer, events, people }: MfaDeps,
  proof: RecentProof,
  countChange: CountChange,
) {
  /** 20 characters of 5 bits in groups of four: 100 bits. */
  function newCode(): string {
    const bytes = [...random.bytes(GROUPS * CHARACTERS_PER_GROUP)];
    const characters = bytes.map((byte) => ALPHABET.charAt(byte & 31)).join("");
    const group = (_: unknown, at: number) =>
      characters.slice(at * CHARACTERS_PER_GROUP, (at + 1) * CHARACTERS_PER_GROUP);
    return Array.from({ length: GROUPS }, group).join("-");
  }

  return {
    /** The present generation of the caller's codes, without the codes themselves. */
    list: ({ caller }: CallerContext): Promise<RecoveryCodeRow[]> =>
      store.recoveryCodesOf(database, personOf(caller).userUuid),

    /**
     * Returns ten new codes, the only time they are shown; the old ones become void.
     * @throws {conflict} when the caller has no active factor
     * @throws {step_up_required} without a recent proof of the second factor
     * @throws {rate_limited} after too many changes
     */
    async regenerate(context: CallerContext): Promise<string[]> {
      const { caller } = context;
      const { userUuid } = personOf(caller);
      const codes = Array.from({ length: CODES_PER_GENERATION }, newCode);
      const key = random.bytes(32);
      const hashes = codes.map((code) => hashRecoveryCode(key, code));
      await countChange(userUuid, (tx) => store.hasActiveFactor(tx, userUuid));
      await context.transaction(async (tx) => {
        await people.lock(tx, userUuid);
        if (!(await store.hasActiveFactor(tx, userUuid))) throw mfaErrors.noActiveFactor();
        await proof.demand(tx, caller);
        await store.dropRecoveryCodes(tx, userUuid);
        const sealed = sealer.seal(key, recoveryContext(userUuid));
        await store.insertRecoveryCodes(tx, userUuid, sealed, hashes, dateOf(clock));
        await events.emit(tx, EVENTS["recovery_codes.regenerated"], {
          by: causedBy(context),
          orgUuid: caller.orgUuid,
          resourceId: userUuid,
        });
        if (caller.email === null) return;
        const mail = {
          to: caller.email,
          organization: caller.orgName ?? undefined,
          write: () => factorMail("codes"),
        };
        await people.mails.send(tx, mail, dateOf(clock, NOTICE_MS));
      });
      return codes;
    },
  };
}
