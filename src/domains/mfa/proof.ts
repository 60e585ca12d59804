import type { Caller } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Sessions } from "../sessions/index.ts";
import { mfaErrors } from "./errors.ts";
import { isRecent } from "./rules.ts";
import { hasActiveFactor } from "./store.ts";

/** What the demand for a recent proof is made of. */
export interface ProofDeps {
  clock: Clock;
  sessions: Pick<Sessions, "secondFactor">;
  config: { elevatedMs: number };
}

/** The proof that changing factors demands (decisions 4.1). */
export function createRecentProof({ clock, sessions, config }: ProofDeps) {
  return {
    /**
     * Refuses with 403 `step_up_required` a caller who has an active factor and has not proven the second factor in
     * this session within the life of an elevated token. The person's row must be locked.
     */
    async demand(tx: Tx, caller: Caller): Promise<void> {
      const { sessionId } = caller;
      if (sessionId === null) throw errors.forbidden();
      if (!(await hasActiveFactor(tx, personOf(caller)))) return;
      const provenAt = await sessions.secondFactor.provenAt(tx, sessionId);
      if (!isRecent(provenAt, clock.now(), config.elevatedMs)) throw mfaErrors.proofRequired();
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
