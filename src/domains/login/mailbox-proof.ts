import type { RequestInfo } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Email } from "../../platform/email.ts";
import { personActor } from "../audit-record/index.ts";
import type { LoginDeps } from "./deps.ts";
import { createForfeit } from "./forfeit.ts";
import type { ForfeitDeps } from "./forfeit.ts";

/** What proofs of mailboxes are made of. */
export type MailboxProofDeps = ForfeitDeps & Pick<LoginDeps, "mfa">;

/** Proof of a mailbox, for the doors that go by mail (decisions 2.3). */
export function createMailboxProof(deps: MailboxProofDeps) {
  const { audit, people, mfa } = deps;
  const forfeit = createForfeit(deps);
  /**
   * The person behind an address that has just been proven, created when there is none; row locked. The first proof of
   * an unconfirmed address ends what was made with the account before it. Second factors stay: while one is active, the
   * address counts as confirmed only once the factor has been passed, so that its owner can still disown the account.
   */
  return async function prove(tx: Tx, email: Email, info: RequestInfo): Promise<string> {
    const complete = async (userUuid: string) => !(await mfa.gatekeeper.isNeeded(tx, userUuid));
    const { person, lostCredentials, confirmed } = await people.proven(tx, email, complete);
    await tx.em.flush();
    const userUuid = person.uuid;
    if (lostCredentials) await forfeit(tx, { userUuid, email: person.email }, "mailbox_proven", info);
    if (confirmed) {
      const orgUuid = (await people.memberships.lastUsed(tx, userUuid)) ?? null;
      const resource = { type: "user", id: userUuid };
      await audit.record(tx, {
        type: "email.confirmed",
        outcome: "success",
        userUuid,
        orgUuid,
        info,
        actor: personActor(userUuid, person.email),
        resource,
      });
    }
    return userUuid;
  };
}
