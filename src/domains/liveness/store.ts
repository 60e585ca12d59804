import type { Database } from "../../platform/db/types.ts";
import type { Credential } from "./credential.ts";
import { KINDS } from "./kinds.ts";
import type { KindName } from "./kinds.ts";
import type { LiveRow } from "./rows.ts";

const kindNames = Object.keys(KINDS) as KindName[];
const statements = new Map<string, { name: string; sql: string }>();

/** One statement for the credentials of these kinds. Its parameters: the time, then ids and details of each kind. */
function statementFor(kinds: readonly KindName[]): { name: string; sql: string } {
  const name = `live_${kinds.join("_")}`;
  let statement = statements.get(name);
  if (statement === undefined) {
    const lists = kinds.map((kind, at) => {
      const asked = `unnest($${2 * at + 2}::uuid[], $${2 * at + 3}::text[]) with ordinality as q (id, detail, n)`;
      const rows = KINDS[kind].rows(asked, "$1::timestamptz");
      return `(select coalesce(json_agg(live), '[]') from (${rows}) live) as ${kind}`;
    });
    statements.set(name, (statement = { name, sql: `select ${lists.join(", ")}` }));
  }
  return statement;
}

/** Reads which of these credentials are live; returns their rows by the names of the credentials. */
export async function readLive(
  database: Pick<Database, "identifying">,
  credentials: readonly Credential[],
  at: Date,
): Promise<ReadonlyMap<string, LiveRow>> {
  const byKind = Map.groupBy(credentials, ({ kind }) => kind);
  const kinds = kindNames.filter((kind) => byKind.has(kind));
  const params: unknown[] = [at];
  for (const kind of kinds) {
    const asked = byKind.get(kind) ?? [];
    params.push(list(asked.map(({ id }) => id)), list(asked.map(({ detail }) => detail || '""')));
  }
  const { name, sql } = statementFor(kinds);
  // Rows in one JSON text and lists as text, both ready made, cost node-postgres half as much.
  const [result] = await database.identifying<Record<string, (LiveRow & { n: number })[]>>(name, sql, params);
  const found = new Map<string, LiveRow>();
  for (const kind of kinds)
    for (const { n, ...row } of result?.[kind] ?? []) {
      const asked = byKind.get(kind)?.[n - 1];
      if (asked !== undefined) found.set(asked.name, row);
    }
  return found;
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
  /** Credentials, people, identities, organizations; undefined when the moment is too old or they are too many. */
  subjects: readonly string[] | undefined;
}

/** Maximum number of changes that are read one by one; a transaction writes one more at most (migration 0132). */
const MAX_CHANGES = 5_000;

// The path of every request, whatever the number of credentials: one step into an index that mostly finds its end.
const CHANGES_SQL = `
  select pg_current_snapshot()::text as snapshot, clock_timestamp()::text as at,
    $2::timestamptz > clock_timestamp() - interval '10 minutes' as covered,
    (select string_agg(subject::text, ',') from (
      select subject from liveness_changes
      where xid >= pg_snapshot_xmin($1::pg_snapshot) and not pg_visible_in_snapshot(xid, $1::pg_snapshot)
      order by xid limit ${MAX_CHANGES + 1}) as changed) as changed`;

/** Reads the changes committed since `since` that credentials depend on; without it, only the present moment. */
export async function readChanges(database: Database, since: Moment | undefined): Promise<Changes> {
  const [row] = await database.identifying<Moment & { covered: boolean | null; changed: string | null }>(
    "live_changes",
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
  return (await database.prepared("live_delete_old_changes", sql, [])).length;
}

/** An array as PostgreSQL reads it, of items that need no quotes: UUIDs, thumbprints and serial numbers. */
function list(items: readonly string[]): string {
  return `{${items.join(",")}}`;
}
