import type { Announce } from "../../platform/announce.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { EndedSessions } from "./ending-store.ts";

/**
 * Tells webhooks that sessions ended: one event for a session ended by itself, one an organization for many at once.
 */
export type AnnounceSessions = Announce<"session.revoked">;

/** Tells each organization of its sessions that ended together. Sessions in no organization are heard by nobody. */
export async function announceEnded(
  tx: Tx,
  announce: AnnounceSessions,
  ended: readonly EndedSessions[],
  why: { reason: string } & Readonly<Record<string, unknown>>,
): Promise<void> {
  for (const { org_uuid: orgUuid, revoked, session_ids } of ended) {
    if (orgUuid !== null)
      await announce(tx, { type: "session.revoked", orgUuid, data: { ...why, revoked, session_ids } });
  }
}

/** Those that others were derived from, over all organizations. */
export function sourcesOf(ended: readonly EndedSessions[]): string[] {
  return ended.flatMap(({ sources }) => sources);
}

/** How many sessions ended together, over all organizations. */
export function countOf(ended: readonly EndedSessions[]): number {
  return ended.reduce((sum, { revoked }) => sum + revoked, 0);
}
