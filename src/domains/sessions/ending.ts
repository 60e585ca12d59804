import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { actorOf } from "../audit-record/index.ts";
import type { Audit } from "../auth-events/index.ts";
import { announceEnded, countOf, sourcesOf } from "./announcing.ts";
import type { AnnounceSessions } from "./announcing.ts";
import { revokeSessionsIn, revokeSessionsOfOrganization } from "./ending-store.ts";
import type { EndedSessions } from "./ending-store.ts";
import { tellFollowers } from "./followers.ts";

/** Whose doing it is that sessions end, and why. */
export interface EndedBy {
  caller: Caller;
  info: RequestInfo;
  /** In one word, for the audit log. */
  reason: string;
}

/** The end of sessions by what happens to a membership or an organization, in the transaction of that. */
export function createEnding({
  clock,
  audit,
  announce,
}: {
  clock: Clock;
  audit: Pick<Audit, "record">;
  announce: AnnounceSessions;
}) {
  async function note(
    tx: Tx,
    orgUuid: string,
    userUuid: string | null,
    ended: readonly EndedSessions[],
    whose: { user_uuid?: string },
    { caller, info, reason }: EndedBy,
  ): Promise<void> {
    const revoked = countOf(ended);
    if (revoked === 0) return;
    await audit.record(tx, {
      type: "session.bulk_revoked",
      outcome: "success",
      userUuid,
      orgUuid,
      info,
      actor: actorOf(caller),
      metadata: { revoked, reason },
    });
    await announceEnded(tx, announce, ended, { reason, ...whose });
    await tellFollowers({ clock, audit, announce }, tx, sourcesOf(ended), { caller, info });
  }

  return {
    /** Ends every session of a person in an organization. */
    async ofMember(tx: Tx, orgUuid: string, userUuid: string, by: EndedBy): Promise<void> {
      await note(
        tx,
        orgUuid,
        userUuid,
        await revokeSessionsIn(tx, orgUuid, userUuid, by.reason, dateOf(clock)),
        { user_uuid: userUuid },
        by,
      );
    },

    /** Ends every session in an organization. */
    async ofOrganization(tx: Tx, orgUuid: string, by: EndedBy): Promise<void> {
      await note(
        tx,
        orgUuid,
        by.caller.userUuid,
        await revokeSessionsOfOrganization(tx, orgUuid, by.reason, dateOf(clock)),
        {},
        by,
      );
    },
  };
}

/** The end of sessions as other domains see it. */
export type Ending = ReturnType<typeof createEnding>;
