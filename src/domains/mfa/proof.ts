import type { Caller } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { People } from "../people/index.ts";
import type { Sessions } from "../sessions/index.ts";
import { mfaErrors } from "./errors.ts";
import { isRecent, personOf } from "./rules.ts";
import { hasActiveFactor } from "./store.ts";

/** Dependencies of the demand for a recent proof. */
export interface ProofDeps {
  database: Database;
  clock: Clock;
  people: { memberships: Pick<People["memberships"], "belongsElsewhere"> };
  sessions: Pick<Sessions, "proofs">;
  config: { elevatedMs: number };
}

/** The proofs that changing factors requires (decisions 4.1). Both checks need the person's row locked. */
export function createRecentProof({ database, clock, people, sessions, config }: ProofDeps) {
  const recent = (at: Date | null): boolean => isRecent(at, clock.now(), config.elevatedMs);

  /**
   * Demands, of a person with an active factor, a proof of it in this session within the lifetime of an elevated token.
   * @throws {step_up_required} when there is none
   */
  async function demand(tx: Tx, caller: Caller): Promise<void> {
    const { userUuid, sessionId } = personOf(caller);
    if (!(await hasActiveFactor(tx, userUuid))) return;
    if (!recent((await sessions.proofs.last(tx, sessionId)).secondFactor)) throw mfaErrors.proofRequired();
  }

  /**
   * Whether a sign-in proves who the person is to all their organizations, each of which will ask for the factor. One
   * by a provider that the person has not linked themselves does to the provider's own alone.
   */
  async function provesEverywhere(tx: Tx, caller: Caller): Promise<boolean> {
    const orgUuid = await sessions.proofs.vouchedOrg(tx, caller);
    if (orgUuid === undefined) return true;
    return orgUuid !== null && !(await people.memberships.belongsElsewhere(tx, orgUuid, personOf(caller).userUuid));
  }

  /**
   * The same, and for a first factor a sign-in or step-up of that age; a step-up where the sign-in does not prove who
   * the person is to all their organizations.
   * @throws {step_up_required} when there is none
   */
  async function demandToEnrol(tx: Tx, caller: Caller): Promise<void> {
    const { userUuid, sessionId } = personOf(caller);
    // In this order: whoever sees a factor, without a lock, also sees the proof that was stored with it.
    const isProtected = await hasActiveFactor(tx, userUuid);
    const { secondFactor, stepUp, any } = await sessions.proofs.last(tx, sessionId);
    if (isProtected) {
      if (!recent(secondFactor)) throw mfaErrors.proofRequired();
      return;
    }
    if (!recent(any)) throw mfaErrors.freshSignInRequired();
    if (!recent(stepUp) && !(await provesEverywhere(tx, caller))) throw mfaErrors.ownProofRequired();
  }

  /** A check before the request is read; the transaction that writes repeats it. */
  const first =
    (check: typeof demand) =>
    async (caller: Caller | undefined): Promise<void> => {
      if (caller !== undefined) await database.transaction((tx) => check(tx, caller));
    };

  return { demand, demandToEnrol, demandFirst: first(demand), demandToEnrolFirst: first(demandToEnrol) };
}

/** The demand for a recent proof. */
export type RecentProof = ReturnType<typeof createRecentProof>;
