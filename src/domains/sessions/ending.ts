import type { RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { bySystem, EVENTS, withoutActor } from "../event-catalogue/index.ts";
import { countOf, notifyEnded, recordDerivedEnded, sourcesOf } from "./ended.ts";
import type { EndedDeps } from "./ended.ts";
import { revokeChosenSessions, revokeSessionsIn, revokeSessionsOfOrganization } from "./ending-store.ts";
import type { EndedBy } from "../event-catalogue/index.ts";
import type { EndedSessions } from "./ending-store.ts";

/** The end of sessions with a membership or an organization, in the transaction of that. */
export function createEnding(deps: EndedDeps) {
  const { clock, events } = deps;

  async function record(
    tx: Tx,
    orgUuid: string | null,
    userUuid: string | null,
    ended: readonly EndedSessions[],
    { reason, by }: EndedBy,
    whose: { user_uuid?: string } = {},
  ): Promise<void> {
    const revoked = countOf(ended);
    if (revoked === 0) return;
    const metadata = { revoked, reason };
    await events.emit(tx, EVENTS["session.bulk_revoked"], { by, orgUuid, userUuid, metadata });
    await notifyEnded(deps, tx, ended, { reason, ...whose });
    await recordDerivedEnded(deps, tx, sourcesOf(ended), by);
  }

  /**
   * The same for each organization. The log of another one than `orgUuid` says no more than of a derived session, and
   * names nobody of `orgUuid`.
   */
  async function recordEach(
    tx: Tx,
    orgUuid: string,
    userUuid: string | null,
    ended: readonly EndedSessions[],
    why: EndedBy,
    whose?: { user_uuid: string },
  ): Promise<void> {
    const elsewhere: EndedBy = {
      by: userUuid !== null && why.by.actor?.id === userUuid ? why.by : bySystem,
      reason: "source_ended",
    };
    for (const one of ended)
      if (one.orgUuid === orgUuid) await record(tx, orgUuid, userUuid ?? why.by.userUuid, [one], why, whose);
      else await record(tx, one.orgUuid, userUuid, [one], elsewhere, whose);
  }

  return {
    /**
     * Ends every session of a person in an organization, and those that its identity provider opened elsewhere: it
     * vouches for the person no more.
     */
    async ofMember(tx: Tx, orgUuid: string, userUuid: string, by: EndedBy): Promise<void> {
      const ended = await revokeSessionsIn(tx, orgUuid, userUuid, by.reason, dateOf(clock));
      await recordEach(tx, orgUuid, userUuid, ended, by, { user_uuid: userUuid });
    },

    /** Ends those of the given sessions of a person in an organization that are live; nobody signed in asked for it. */
    async chosen(
      tx: Tx,
      orgUuid: string,
      userUuid: string,
      sessionUuids: readonly string[],
      { info, reason }: { info: RequestInfo; reason: string },
    ): Promise<void> {
      const ended = await revokeChosenSessions(tx, sessionUuids, reason, dateOf(clock));
      const by = withoutActor(userUuid, info);
      await record(tx, orgUuid, userUuid, ended, { reason, by }, { user_uuid: userUuid });
    },

    /** Ends every session in an organization, and those that its identity provider opened elsewhere. */
    async ofOrganization(tx: Tx, orgUuid: string, by: EndedBy): Promise<void> {
      const ended = await revokeSessionsOfOrganization(tx, orgUuid, by.reason, dateOf(clock));
      await recordEach(tx, orgUuid, null, ended, by);
    },
  };
}
