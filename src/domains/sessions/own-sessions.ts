import { personRequired } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { pagingBy } from "../../platform/cursors.ts";
import type { Cursors } from "../../platform/cursors.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Total } from "../../platform/db/total.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Cause } from "../event-catalogue/index.ts";
import { countOf, notifyEnded, recordDerivedEnded, sourcesOf } from "./ended.ts";
import type { EndedDeps } from "./ended.ts";
import type { OpenRequest } from "./open.ts";
import { keepLive, ownSessions, revokeSession, revokeSessionsOf } from "./store.ts";
import type { OwnSessionRow } from "./store.ts";

/** Dependencies of a person's own sessions. */
export interface OwnSessionsDeps extends EndedDeps {
  database: Database;
  cursors: Cursors;
}

/** One of the caller's sessions. */
export interface OwnSession extends OwnSessionRow {
  /** Whether it is the session of the presented token. */
  current: boolean;
}

/** What a session inherits from the one whose token opens it. */
export type Inherited = Pick<OpenRequest, "notAfter" | "openedBy" | "providerOrgUuid">;

/** A page of one's own sessions. */
export interface OwnSessions extends Total {
  data: OwnSession[];
  nextCursor?: string;
}

/** A person's own sessions: their list and their end. */
export function createOwnSessions(deps: OwnSessionsDeps) {
  const { database, clock, events, cursors } = deps;
  return {
    /** The caller's live sessions on all devices, last seen first; none for a credential of an organization. */
    async list({ caller }: CallerContext, page: Page): Promise<OwnSessions> {
      if (caller.userUuid === null) return { data: [], total: 0 };
      const at = dateOf(clock);
      const paging = pagingBy(cursors, ["sessions", caller.userUuid], page);
      const { rows, ...rest } = await ownSessions(database, caller.userUuid, at, page, paging);
      return { data: rows.map((row) => ({ ...row, current: row.uuid === caller.sessionId })), ...rest };
    },

    /**
     * Demands that the caller's session is still live, and locks it until the transaction ends: what ends all of their
     * sessions then sees one that is opened for them. Called after the lock on the person.
     * @returns what a session inherits that is opened by the token of this one
     * @throws {unauthorized} when the session has ended
     */
    async demandLive(tx: Tx, { sessionId }: Pick<Caller, "sessionId">): Promise<Inherited> {
      const live = await keepLive(tx, sessionId, dateOf(clock));
      if (live === undefined) throw errors.unauthorized();
      return { notAfter: live.absoluteEnd, openedBy: sessionId, providerOrgUuid: live.providerOrgUuid };
    },

    /** Ends the session of the presented token, with all of its tokens. */
    async logout(context: CallerContext): Promise<void> {
      const { sessionId, userUuid, orgUuid } = context.caller;
      if (sessionId === null || userUuid === null) throw personRequired();
      await context.transaction(async (tx) => {
        if (!(await revokeSession(tx, sessionId, "logout", dateOf(clock)))) return;
        const by = causedBy(context);
        const metadata = { session_id: sessionId, reason: "logout" };
        await events.emit(tx, EVENTS["session.revoked"], {
          by,
          orgUuid,
          resourceId: sessionId,
          metadata,
          data: { ...metadata, user_uuid: userUuid },
        });
        await recordDerivedEnded(deps, tx, [sessionId], by);
      });
    },

    /**
     * Ends every session of a person but `spared`, in the transaction of what makes that necessary; returns how many.
     * Each organization's log shows its own, about that person, whoever caused it.
     */
    async endAll(tx: Tx, userUuid: string, reason: string, by: Cause, spared: string | null = null): Promise<number> {
      const ended = await revokeSessionsOf(tx, userUuid, reason, dateOf(clock), spared);
      for (const { orgUuid, revoked } of ended)
        await events.emit(tx, EVENTS["session.bulk_revoked"], { by, orgUuid, userUuid, metadata: { revoked, reason } });
      await notifyEnded(deps, tx, ended, { reason, user_uuid: userUuid });
      await recordDerivedEnded(deps, tx, sourcesOf(ended), by);
      return countOf(ended);
    },
  };
}
