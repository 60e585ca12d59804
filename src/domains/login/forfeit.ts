import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { personActor } from "../audit-record/index.ts";
import type { LoginDeps } from "./deps.ts";
import { withdrawOpenInvitations } from "./invitation-store.ts";

/** What the end of an unconfirmed account's credentials is made of. */
export type ForfeitDeps = Pick<LoginDeps, "clock" | "audit" | "people" | "sessions" | "credentials" | "endWebhooks">;

/** Ends everything by which whoever made an unconfirmed account could go on acting (decisions 2.3). */
export function createForfeit({ clock, audit, people, sessions, credentials, endWebhooks }: ForfeitDeps) {
  /**
   * Ends sessions and API keys of a person, and SCIM tokens, webhooks and open invitations of the organizations that
   * have no other owner. The row of the person must be locked. Sessions and keys end first: what a request in flight
   * still makes with them is committed before that, and is seen by the statements that follow.
   */
  return async function forfeit(
    tx: Tx,
    { userUuid, email }: { userUuid: string; email: string },
    reason: string,
    info: RequestInfo,
  ): Promise<void> {
    const by = { userUuid, actor: personActor(userUuid, email), info, reason };
    await sessions.own.endAll(tx, userUuid, reason, info);
    await credentials.ending.keysOf(tx, userUuid, by);
    for (const orgUuid of await people.memberships.ownedAlone(tx, userUuid)) {
      await credentials.ending.scimTokensOf(tx, orgUuid, by);
      await endWebhooks(tx, orgUuid);
      const withdrawn = await withdrawOpenInvitations(tx, orgUuid, dateOf(clock));
      if (withdrawn === 0) continue;
      const resource = { type: "organization", id: orgUuid };
      const metadata = { withdrawn: true, invitations: withdrawn, reason };
      await audit.record(tx, {
        type: "user.invited",
        outcome: "success",
        userUuid,
        orgUuid,
        info,
        actor: by.actor,
        resource,
        metadata,
      });
    }
  };
}
