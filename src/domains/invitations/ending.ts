import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { EVENTS } from "../event-catalogue/index.ts";
import type { EndedBy } from "../event-catalogue/index.ts";
import type { InvitationsDeps } from "./deps.ts";
import { withdrawInvitationsOf, withdrawInvitationTo, withdrawOpenInvitations } from "./store.ts";

/** Withdrawal of invitations in the transaction of what makes it necessary. */
export function createEnding({ clock, events }: Pick<InvitationsDeps, "clock" | "events">) {
  return {
    /**
     * Withdraws the open invitations that a member whose membership ends has sent, and the one to their own address:
     * whoever joined by another way than it could otherwise come back by it, with its role.
     */
    async endWithMembership(tx: Tx, orgUuid: string, userUuid: string, { reason, by }: EndedBy): Promise<void> {
      const own = await withdrawInvitationTo(tx, orgUuid, userUuid, dateOf(clock));
      if (own !== undefined) {
        const metadata = { email: own.email, withdrawn: true, reason };
        await events.emit(tx, EVENTS["user.invited"], { by, orgUuid, resourceId: own.uuid, metadata });
      }
      const invitations = await withdrawInvitationsOf(tx, orgUuid, userUuid, dateOf(clock));
      if (invitations === 0) return;
      await events.emit(tx, EVENTS["sent_invitations.withdrawn"], {
        by,
        orgUuid,
        userUuid,
        resourceId: userUuid,
        metadata: { withdrawn: true, invitations, reason },
      });
    },

    /** Withdraws every open invitation of an organization. */
    async withdrawAllOf(tx: Tx, orgUuid: string, { reason, by }: EndedBy): Promise<void> {
      const invitations = await withdrawOpenInvitations(tx, orgUuid, dateOf(clock));
      if (invitations === 0) return;
      await events.emit(tx, EVENTS["organization_invitations.withdrawn"], {
        by,
        orgUuid,
        resourceId: orgUuid,
        metadata: { withdrawn: true, invitations, reason },
      });
    },
  };
}
