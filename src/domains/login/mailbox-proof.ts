import type { RequestInfo } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { Email } from "../../platform/email.ts";
import { causedByPerson, EVENTS } from "../event-catalogue/index.ts";
import type { LoginDeps } from "./deps.ts";
import { createRevocation } from "./revocation.ts";
import type { RevocationDeps } from "./revocation.ts";

/** Dependencies of the proof of a mailbox. */
export type MailboxProofDeps = RevocationDeps & Pick<LoginDeps, "events" | "mfa">;

/** Proof of a mailbox by a mailed link or code (decisions 2.3). */
export function createMailboxProof(deps: MailboxProofDeps) {
  const { events, organizations, people, mfa } = deps;
  const revokeCredentials = createRevocation(deps);
  /**
   * The person behind an address that has just been proven, created when there is none; row locked. The first proof of
   * an unconfirmed address revokes the credentials made before it. Second factors stay: while one is active, the
   * address counts as confirmed only once the factor has been passed, so that its owner can still disown the account.
   */
  return async function prove(tx: Tx, email: Email, info: RequestInfo): Promise<string> {
    // Before the person, in the order of those who change members. What is founded meanwhile is locked after them.
    await organizations.lockAll(tx, await people.memberships.ownedUnproven(tx, email.key));
    const complete = async (userUuid: string) => !(await mfa.isRequired(tx, userUuid));
    const { person, lostCredentials, confirmed } = await people.proven(tx, email, complete);
    await tx.em.flush();
    const userUuid = person.uuid;
    if (lostCredentials) await revokeCredentials(tx, { userUuid, email: person.email }, "mailbox_proven", info);
    if (confirmed) {
      await events.emit(tx, EVENTS["email.confirmed"], {
        by: causedByPerson({ userUuid, email: person.email }, info),
        orgUuid: (await people.memberships.lastUsed(tx, userUuid)) ?? null,
        resourceId: userUuid,
      });
    }
    return userUuid;
  };
}
