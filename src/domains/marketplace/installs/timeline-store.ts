import type { EntityManager } from "@mikro-orm/postgresql";
import type { Tx } from "../../../platform/db/types.ts";
import { Install } from "./entities.ts";
import { COUNTED_EVENTS } from "./rules.ts";
import type { TimelineEvent } from "./rules.ts";

/** Entries of a timeline that are kept, the newest; those that statistics count stay beyond them. */
const MAX_ENTRIES = 200;
/** Characters of an entry that are kept. */
const MAX_DETAIL = 1_000;

/** One entry of an install's timeline. */
export interface TimelineEntry {
  at: Date;
  event: TimelineEvent;
  detail: string;
  /** Of an attempt that failed: when the next one is made. */
  nextAttemptAt?: Date | undefined;
}

/** An entry as JSON of PostgreSQL. */
export type TimelineRow = Pick<TimelineEntry, "event" | "detail"> & { at: string; next: string | null };

/** The JSON of an entry, of a table `t`. */
export const TIMELINE_JSON = `json_build_object(
  'at', t.at, 'event', t.event, 'detail', t.detail, 'next', t.next_attempt_at)`;

export function timelineOf(rows: readonly TimelineRow[]): TimelineEntry[] {
  return rows.map(({ at, event, detail, next }) => ({
    at: new Date(at),
    event,
    detail,
    nextAttemptAt: next === null ? undefined : new Date(next),
  }));
}

/** Appends an entry to an install's timeline and deletes the oldest beyond the limit. */
export async function addTimeline(
  tx: Tx,
  installId: string,
  at: Date,
  event: TimelineEvent,
  detail: string,
  nextAttemptAt?: Date,
): Promise<void> {
  const sql = `with line as (insert into install_timeline (install_id, at, event, detail, next_attempt_at, app_id)
      values ($1, $2, $3, $4, $5, (select app_id from installs where install_id = $1)))
    delete from install_timeline where install_id = $1 and event <> all ('{${COUNTED_EVENTS.join(",")}}') and id <= (
      select id from install_timeline where install_id = $1 order by id desc offset ${MAX_ENTRIES - 1} limit 1)`;
  await tx.query(sql, [installId, at, event, detail.slice(0, MAX_DETAIL), nextAttemptAt ?? null]);
}

/** The install of this id and its timeline, oldest entry first; one statement reads both at the same moment. */
export async function installWithTimeline(
  em: EntityManager,
  installId: string,
): Promise<{ install: Install; timeline: TimelineEntry[] } | null> {
  const sql = `select i.*, (
      select coalesce(json_agg(${TIMELINE_JSON} order by t.id), '[]')
      from install_timeline t where t.install_id = i.install_id) as timeline
    from installs i where i.install_id = ?`;
  type Row = { timeline: TimelineRow[] };
  const [row] = await em.getConnection().execute<Row[]>(sql, [installId]);
  if (row === undefined) return null;
  const { timeline, ...install } = row;
  return {
    install: em.map(Install, install),
    timeline: timelineOf(timeline),
  };
}

/** The timeline of an install as this transaction leaves it, oldest entry first. */
export async function timelineIn(tx: Tx, installId: string): Promise<TimelineEntry[]> {
  const sql = `select ${TIMELINE_JSON} as entry from install_timeline t where install_id = $1 order by id`;
  const rows = await tx.query<{ entry: TimelineRow }>(sql, [installId]);
  return timelineOf(rows.map(({ entry }) => entry));
}

/** Detail of the newest attempt that failed since a time; undefined when none did. */
export async function lastFailure(tx: Tx, installId: string, since: Date | null): Promise<string | undefined> {
  const rows = await tx.query<{ detail: string }>(
    `select detail from install_timeline
     where install_id = $1 and event = 'attempt_failed' and at >= $2 order by id desc limit 1`,
    [installId, since],
  );
  return rows[0]?.detail;
}
