import type { Database, Tx } from "../../platform/db/types.ts";

/** The state of a live session; the rest of a caller is in the token. */
export interface LiveRow {
  user_uuid: string;
  org_uuid: string | null;
  email: string;
  org_name: string | null;
  is_owner: boolean | null;
  membership_version: number | null;
  is_superuser: boolean;
  is_operator: boolean;
  /** Creation time of the organization's newest app, epoch milliseconds; null without apps. */
  newest_app: number | null;
  /** When the session or its key expires, epoch milliseconds. */
  until: number;
}

// Every step is a look-up by primary key, and `limit 1` keeps the planner from any other plan: statistics
// of a young table would have it read the whole of sessions, and a prepared plan would stay that way for a while.
// For the same reason the membership's status is checked outside: an index over organization and status would do as
// well while the table is small, and very badly once an organization is large.
const LIVENESS_SQL = `
  select coalesce(json_agg(live), '[]') as rows from (
    select q.n::int as n, s.user_uuid, s.org_uuid, p.email, o.name as org_name, m.is_owner,
      m.version as membership_version, p.is_superuser, p.is_operator,
      (extract(epoch from a.newest) * 1000)::bigint as newest_app,
      (extract(epoch from least(s.expires_at, k.valid_until)) * 1000)::bigint as until
    from unnest($1::uuid[], $2::text[]) with ordinality as q (sid, kid, n)
    cross join lateral (
      select user_uuid, org_uuid, expires_at from sessions
      where uuid = q.sid and revoked_at is null and expires_at > $3 limit 1) s
    cross join lateral (
      select valid_until from signing_keys where kid = q.kid and org_uuid is not distinct from s.org_uuid
        and (valid_until is null or valid_until > $3) limit 1) k
    cross join lateral (
      select email, is_superuser, is_operator from people where uuid = s.user_uuid limit 1) p
    left join lateral (
      select is_owner, version, status from memberships
      where org_uuid = s.org_uuid and user_uuid = s.user_uuid limit 1) m on m.status = 'active'
    left join lateral (
      select name from organizations where uuid = s.org_uuid and deleted_at is null limit 1) o on true
    left join lateral (
      select max(created_at) as newest from apps where org_uuid = s.org_uuid) a on true
    where s.org_uuid is null or (m.version is not null and o.name is not null)) live`;

/**
 * Which of these sessions are live, and their keys valid: the session is neither revoked nor over, the key that
 * signed the token is the organization's and not deleted, the membership is active, the organization exists.
 * Returns rows in the order of the arguments, undefined for a session that is not live.
 */
export async function readLiveness(
  database: Database,
  sids: readonly string[],
  kids: readonly string[],
  at: Date,
): Promise<(LiveRow | undefined)[]> {
  // Rows in one JSON text and lists as text, both ready made, cost node-postgres half as much.
  const [result] = await database.identifying<{ rows: (LiveRow & { n: number })[] }>("sessions_live", LIVENESS_SQL, [
    list(sids),
    list(kids),
    at,
  ]);
  const found: (LiveRow | undefined)[] = sids.map(() => undefined);
  for (const { n, ...row } of result?.rows ?? []) found[n - 1] = row;
  return found;
}

/**
 * Checks that everything a person's token depends on is unchanged, and locks it until the transaction ends.
 * @throws {unauthorized} when something has changed
 */
export async function reauthorizeSession(
  tx: Pick<Tx, "query">,
  params: [
    sid: string,
    kid: string,
    userUuid: string,
    orgUuid: string | null,
    version: number,
    platformAdmin: boolean,
    superuser: boolean,
    operator: boolean,
    at: Date,
    alone: boolean,
  ],
): Promise<void> {
  await tx.query("select judge_session($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", params);
}

/** A point in the database's history: changes after it are read next. */
export interface Moment {
  /** `pg_snapshot` as text. */
  snapshot: string;
  /** The database's clock. */
  at: string;
}

/** Changes since a moment. */
export interface Changes {
  now: Moment;
  /** Sessions, people and organizations; undefined when the moment is too old or the changes are too many. */
  subjects: readonly string[] | undefined;
}

/** Maximum number of changes that are read one by one. */
const MAX_CHANGES = 5_000;

// The path of every request, whatever the number of sessions: one step into an index that mostly finds its end.
const CHANGES_SQL = `
  select pg_current_snapshot()::text as snapshot, clock_timestamp()::text as at,
    $2::timestamptz > clock_timestamp() - interval '10 minutes' as covered,
    (select string_agg(subject::text, ',') from (
      select subject from liveness_changes
      where xid >= pg_snapshot_xmin($1::pg_snapshot) and not pg_visible_in_snapshot(xid, $1::pg_snapshot)
      order by xid limit ${MAX_CHANGES + 1}) as changed) as changed`;

/** Reads the changes committed since `since` that access tokens depend on; without it, only the present moment. */
export async function readChanges(database: Database, since: Moment | undefined): Promise<Changes> {
  const [row] = await database.identifying<Moment & { covered: boolean | null; changed: string | null }>(
    "sessions_changes",
    CHANGES_SQL,
    [since?.snapshot, since?.at],
  );
  if (row === undefined) throw new Error("a select without from returned no row");
  const now = { snapshot: row.snapshot, at: row.at };
  if (row.covered !== true) return { now, subjects: undefined };
  const subjects = row.changed === null ? [] : row.changed.split(",");
  return { now, subjects: subjects.length > MAX_CHANGES ? undefined : subjects };
}

/** Deletes changes that no instance will read any more, at most 10,000; returns how many. */
export async function deleteOldChanges(database: Database): Promise<number> {
  // Far longer than any transaction may take and any instance relies on a moment, all by the database's own clock.
  const sql = `delete from liveness_changes where ctid in (
    select ctid from liveness_changes where at < clock_timestamp() - interval '1 hour' limit 10000) returning 1`;
  return (await database.prepared("sessions_delete_old_changes", sql, [])).length;
}

/** An array as PostgreSQL reads it, of items that need no quotes: UUIDs and thumbprints. */
function list(items: readonly string[]): string {
  return `{${items.join(",")}}`;
}
