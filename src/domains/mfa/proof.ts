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
  sessions: Pick<Sessions, "secondFactor">;
  config: { elevatedMs: number };
}

/** The proof that changing factors demands (decisions 4.1). */
export function createRecentProof({ database, clock, sessions, config }: ProofDeps) {
  /**
   * Refuses with 403 `step_up_required` a caller who has an active factor and has not proven the second factor in
   * this session within the life of an elevated token. The person's row must be locked.
   */
  async function demand(tx: Tx, caller: Caller): Promise<void> {
    const { sessionId } = caller;
    if (sessionId === null) throw errors.forbidden();
    if (!(await hasActiveFactor(tx, personOf(caller)))) return;
    const provenAt = await sessions.secondFactor.provenAt(tx, sessionId);
    if (!isRecent(provenAt, clock.now(), config.elevatedMs)) throw mfaErrors.proofRequired();
  }

  return {
    demand,
    /** The same before there is a request to judge; what changes until then is for `demand` to see. */
    async demandFirst(caller: Caller | undefined): Promise<void> {
      if (caller !== undefined) await database.transaction((tx) => demand(tx, caller));
    },
  };
}

/** The demand for a recent proof. */
export type RecentProof = ReturnType<typeof createRecentProof>;

/** The person who calls; refuses credentials that are nobody's with 403. */
export function personOf(caller: Caller): string {
  if (caller.userUuid === null || caller.sessionId === null) throw errors.forbidden({ message: "This needs a person's own access token." });
  return caller.userUuid;
}
