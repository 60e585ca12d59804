import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Total } from "../../platform/db/counting.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { actorOf } from "../audit-record/index.ts";
import type { Audit } from "../auth-events/index.ts";
import { announceEnded, countOf, sourcesOf } from "./announcing.ts";
import type { AnnounceSessions } from "./announcing.ts";
import { tellFollowers } from "./followers.ts";
import { countOwnSessions, keepLive, ownSessions, revokeSession, revokeSessionsOf } from "./store.ts";
import type { OwnSessionRow } from "./store.ts";

/** What a person's own sessions are made of. */
export interface OwnSessionsDeps {
  database: Database;
  clock: Clock;
  audit: Pick<Audit, "record">;
  announce: AnnounceSessions;
}

/** One of the caller's sessions. */
export interface OwnSession extends OwnSessionRow {
  /** It is the session of the token presented. */
  current: boolean;
}

/** A person's own sessions: the list, and the way out. */
export function createOwnSessions({ database, clock, audit, announce }: OwnSessionsDeps) {
  return {
    /** The caller's live sessions on all devices, last seen first; none for a credential that is no person's. */
    async list(
      caller: Caller,
      { limit, offset }: { limit: number; offset: number },
    ): Promise<{ data: OwnSession[] } & Total> {
      if (caller.userUuid === null) return { data: [], total: 0 };
      const at = dateOf(clock);
      const [rows, total] = await Promise.all([
        ownSessions(database, caller.userUuid, at, limit, offset),
        countOwnSessions(database, caller.userUuid, at),
      ]);
      return { data: rows.map((row) => ({ ...row, current: row.uuid === caller.sessionId })), ...total };
    },

    /**
     * Refuses a caller whose session has ended since the request began, and keeps it from ending until the transaction
     * does: a session opened for the caller is then seen by whatever ends all of theirs. After the lock on the person.
     * Throws `unauthorized`.
     * @returns until when the session can last at most: what it opens must not last longer
     */
    async demandLive(tx: Tx, { sessionId }: Pick<Caller, "sessionId">): Promise<Date> {
      const live = await keepLive(tx, sessionId, dateOf(clock));
      if (live === undefined) throw errors.unauthorized();
      return live.absolute_end;
    },

    /** Ends the session of the token presented, with every token of it. */
    async logout(caller: Caller, info: RequestInfo): Promise<void> {
      const { sessionId, userUuid, orgUuid } = caller;
      if (sessionId === null) throw errors.forbidden();
      await database.transaction(async (tx) => {
        if (!(await revokeSession(tx, sessionId, "logout", dateOf(clock)))) return;
        const metadata = { session_id: sessionId, reason: "logout" };
        const resource = { type: "session", id: sessionId };
        await audit.record(tx, {
          type: "session.revoked",
          outcome: "success",
          userUuid,
          orgUuid,
          info,
          metadata,
          resource,
          actor: actorOf(caller),
        });
        if (orgUuid !== null)
          await announce(tx, { type: "session.revoked", orgUuid, data: { ...metadata, user_uuid: userUuid } });
        await tellFollowers({ clock, audit, announce }, tx, [sessionId], { caller, info });
      }, caller);
    },

    /**
     * Ends every session of a person but `spared`, in the transaction of what makes that necessary; answers how many.
     * The log of each organization is told of its own.
     */
    async endAll(
      tx: Tx,
      userUuid: string,
      reason: string,
      info: RequestInfo,
      spared: string | null = null,
    ): Promise<number> {
      const ended = await revokeSessionsOf(tx, userUuid, reason, dateOf(clock), spared);
      for (const { org_uuid: orgUuid, revoked } of ended) {
        await audit.record(tx, {
          type: "session.bulk_revoked",
          outcome: "success",
          userUuid,
          orgUuid,
          info,
          metadata: { revoked, reason },
        });
      }
      await announceEnded(tx, announce, ended, { reason, user_uuid: userUuid });
      await tellFollowers({ clock, audit, announce }, tx, sourcesOf(ended), { info });
      return countOf(ended);
    },
  };
}
