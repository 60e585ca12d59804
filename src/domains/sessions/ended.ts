import type { Clock } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { bySystem, EVENTS } from "../event-catalogue/index.ts";
import type { Cause, DataOf, Events } from "../event-catalogue/index.ts";
import { derivedEnded } from "./ending-store.ts";
import type { DerivedSession, EndedSessions } from "./ending-store.ts";

/** Dependencies of the record of ended sessions. */
export interface EndedDeps {
  clock: Clock;
  events: Pick<Events, "emit" | "notify">;
}

/** Sends each organization one event for its sessions that ended together. */
export async function notifyEnded(
  { events }: Pick<EndedDeps, "events">,
  tx: Tx,
  ended: readonly EndedSessions[],
  why: DataOf<(typeof EVENTS)["session.revoked"]["data"]>,
): Promise<void> {
  for (const { orgUuid, revoked, sessionIds } of ended) {
    if (orgUuid === null) continue;
    await events.notify(tx, EVENTS["session.revoked"], { orgUuid, data: { ...why, revoked, session_ids: sessionIds } });
  }
}

/**
 * Records the sessions that ended in this transaction because one of `sources` did (the trigger `sessions_derived`
 * ended them): each belongs to an organization of its own, whose log and webhooks would otherwise not show it. That log
 * names nobody of the organization in which the first one ended, such as an administrator there.
 */
export async function recordDerivedEnded(
  { events }: Pick<EndedDeps, "events">,
  tx: Tx,
  sources: readonly string[],
  by: Cause,
): Promise<void> {
  if (sources.length === 0) return;
  const derived = await derivedEnded(tx, sources);
  for (const session of derived) {
    const { uuid, sourceUuid: source, userUuid, orgUuid } = session;
    await events.emit(tx, EVENTS["session.revoked"], {
      by: isNamed(by, session) ? by : bySystem,
      orgUuid,
      userUuid,
      resourceId: uuid,
      metadata: { session_id: uuid, reason: "source_ended", source_session_id: source },
      data: { session_id: uuid, reason: "source_ended", user_uuid: userUuid },
    });
  }
}

/** Whether the log of a derived session's organization may tell who ended its source: the person, or its own people. */
function isNamed({ actor }: Cause, { userUuid, orgUuid, endedInOrgUuid }: DerivedSession): boolean {
  return actor?.id === userUuid || orgUuid === endedInOrgUuid;
}

/** The ended sessions that others were derived from, of all organizations. */
export function sourcesOf(ended: readonly EndedSessions[]): string[] {
  return ended.flatMap(({ sources }) => sources);
}

/** Number of sessions that ended together, of all organizations. */
export function countOf(ended: readonly EndedSessions[]): number {
  return ended.reduce((sum, { revoked }) => sum + revoked, 0);
}
