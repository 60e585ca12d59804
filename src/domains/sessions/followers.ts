import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { actorOf } from "../audit-record/index.ts";
import type { Audit } from "../auth-events/index.ts";
import type { AnnounceSessions } from "./announcing.ts";
import { followersOf } from "./ending-store.ts";

/** What telling of derived sessions is made of. */
export interface FollowersDeps {
  clock: Clock;
  audit: Pick<Audit, "record">;
  announce: AnnounceSessions;
}

/** Whose doing the end was; without a caller it was the service's or that of whoever proved a mailbox. */
export interface EndedFor {
  caller?: Caller | undefined;
  info: RequestInfo;
}

/**
 * Tells the log and the webhooks of the sessions that ended in this transaction because one of `sources` did (the
 * trigger `sessions_derived` ended them): each has an organization of its own, which would otherwise not hear of it.
 */
export async function tellFollowers(
  { clock, audit, announce }: FollowersDeps,
  tx: Tx,
  sources: readonly string[],
  { caller, info }: EndedFor,
): Promise<void> {
  if (sources.length === 0) return;
  for (const { uuid, source_uuid: source, user_uuid: userUuid, org_uuid: orgUuid } of await followersOf(
    tx,
    sources,
    dateOf(clock),
  )) {
    const metadata = { session_id: uuid, reason: "source_ended", source_session_id: source };
    const actor = caller === undefined ? null : actorOf(caller);
    await audit.record(tx, {
      type: "session.revoked",
      outcome: "success",
      userUuid,
      orgUuid,
      info,
      actor,
      resource: { type: "session", id: uuid },
      metadata,
    });
    if (orgUuid !== null)
      await announce(tx, {
        type: "session.revoked",
        orgUuid,
        data: { session_id: uuid, reason: "source_ended", user_uuid: userUuid },
      });
  }
}
