import type { RequestInfo } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import { personActor } from "../audit-record/index.ts";
import type { LoginDeps } from "./deps.ts";

/** Dependencies of the revocation of an account's credentials. */
export type RevocationDeps = Pick<LoginDeps, "people" | "sessions" | "credentials" | "webhooks" | "invitations">;

/** Revokes everything by which the person who made an unconfirmed account could still act (decisions 2.3). */
export function createRevocation({ people, sessions, credentials, webhooks, invitations }: RevocationDeps) {
  /**
   * Ends sessions and API keys of a person, and SCIM tokens, webhooks and open invitations of the organizations that
   * have no other owner. The row of the person must be locked. Sessions and keys end first: what a request in flight
   * still makes with them is committed before that, and the statements that follow see it.
   */
  return async function revokeCredentials(
    tx: Tx,
    { userUuid, email }: { userUuid: string; email: string },
    reason: string,
    info: RequestInfo,
  ): Promise<void> {
    const by = { userUuid, actor: personActor(userUuid, email), info };
    await sessions.own.endAll(tx, userUuid, reason, info);
    await credentials.ending.keysOf(tx, userUuid, { ...by, reason });
    for (const orgUuid of await people.memberships.ownedAlone(tx, userUuid)) {
      await credentials.ending.scimTokensOf(tx, orgUuid, { ...by, reason });
      await webhooks.organizationEnds(tx, orgUuid);
      await invitations.withdrawAllOf(tx, orgUuid, by, reason);
    }
  };
}
