import type { Caller } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Sessions } from "../sessions/index.ts";
import { mfaErrors } from "./errors.ts";
import { isRecent } from "./rules.ts";
import { hasActiveFactor } from "./store.ts";

/** What the demand for a recent proof is made of. */
export interface ProofDeps {
  database: Database;
  clock: Clock;
  sessions: Pick<Sessions, "proofs">;
  config: { elevatedMs: number };
}

/** The proofs that changing factors demands (decisions 4.1); both demands need the person's row locked. */
export function createRecentProof({ database, clock, sessions, config }: ProofDeps) {
  const recent = (at: Date | null): boolean => isRecent(at, clock.now(), config.elevatedMs);

  /**
   * @throws {step_up_required} when there is an active factor and none was proven in this session within the life of an
   * elevated token.
   */
  async function demand(tx: Tx, caller: Caller): Promise<void> {
    const userUuid = personOf(caller);
    if (!(await hasActiveFactor(tx, userUuid))) return;
    if (!recent((await sessions.proofs.last(tx, caller.sessionId ?? "")).secondFactor)) throw mfaErrors.proofRequired();
  }

  /** The same, and for a first factor a sign-in or step-up of that age. @throws {step_up_required} */
  async function demandToEnrol(tx: Tx, caller: Caller): Promise<void> {
    const userUuid = personOf(caller);
    const { secondFactor, any } = await sessions.proofs.last(tx, caller.sessionId ?? "");
    if (await hasActiveFactor(tx, userUuid)) {
      if (!recent(secondFactor)) throw mfaErrors.proofRequired();
    } else if (!recent(any)) throw mfaErrors.freshSignInRequired();
  }

  /** A demand made before the request is read; what changes until the transaction that writes is judged there again. */
  const first =
    (asked: typeof demand) =>
    async (caller: Caller | undefined): Promise<void> => {
      if (caller !== undefined) await database.transaction((tx) => asked(tx, caller));
    };

  return { demand, demandToEnrol, demandFirst: first(demand), demandToEnrolFirst: first(demandToEnrol) };
}

/** The demand for a recent proof. */
export type RecentProof = ReturnType<typeof createRecentProof>;

/** The person who calls; refuses credentials that are nobody's with 403. */
export function personOf(caller: Caller): string {
  if (caller.userUuid === null || caller.sessionId === null)
    throw errors.forbidden({ message: "This needs a person's own access token." });
  return caller.userUuid;
}
