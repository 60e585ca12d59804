import type { Database, Tx } from "../../../platform/db/types.ts";
import type { ProviderName } from "../providers/index.ts";

type Reader = Pick<Database, "prepared">;

/** A new run. */
export interface NewReconciliation {
  id: string;
  names: readonly ProviderName[];
  start: Date;
  end: Date;
  /** False for a run of the schedule, which has a workflow before it has a row. */
  isRequested: boolean;
  at: Date;
}

/** Stores a run, once by its id. */
export async function insertReconciliation(tx: Tx, run: NewReconciliation): Promise<void> {
  await tx.query(
    `insert into reconciliations (id, providers, start_at, end_at, requested, created_at, finished_at)
     values ($1, $2, $3, $4, $5, $6, case when cardinality($2::text[]) = 0 then $6::timestamptz end)
     on conflict (id) do nothing`,
    [run.id, run.names, run.start, run.end, run.isRequested, run.at],
  );
}

/** A run. */
export interface ReconciliationRow {
  /** Those that are not done, the present one first. */
  providers: ProviderName[];
  start: Date;
  end: Date;
  /** Where the next page of the first provider begins; null at its beginning. */
  position: string | null;
  finished: boolean;
}

/** A run; undefined when there is none. */
export async function findReconciliation(database: Reader, id: string): Promise<ReconciliationRow | undefined> {
  const [row] = await database.prepared<ReconciliationRow>(
    "reconciliation-read",
    `select providers, start_at as "start", end_at as "end", position, finished_at is not null as finished
     from reconciliations where id = $1`,
    [id],
  );
  return row;
}

/** Stores that a page is done; without providers left the run has ended. */
export async function advance(
  tx: Tx,
  id: string,
  done: { left: readonly ProviderName[]; position: string | null; seen: number; added: number; at: Date },
): Promise<void> {
  await tx.query(
    `update reconciliations set providers = $2, position = $3, seen = seen + $4, repaired = repaired + $5,
       finished_at = case when cardinality($2::text[]) = 0 then $6::timestamptz end
     where id = $1`,
    [id, done.left, done.position, done.seen, done.added, done.at],
  );
}

/** Ids of requested runs that have not ended, in order. */
export async function unfinished(database: Reader, after: string | null, limit: number): Promise<string[]> {
  const rows = await database.prepared<{ id: string }>(
    "reconciliations-unfinished",
    `select id from reconciliations where finished_at is null and requested and ($1::uuid is null or id > $1)
     order by id limit $2`,
    [after, limit],
  );
  return rows.map(({ id }) => id);
}

/** Deletes a batch of runs that ended before a time; returns how many. */
export async function deleteFinished(database: Reader, before: Date): Promise<number> {
  const sql = `delete from reconciliations where ctid = any (array(
    select ctid from reconciliations where created_at < $1 and finished_at is not null limit 1000
    for update skip locked)) returning 1 as one`;
  return (await database.prepared("reconciliations-tidy", sql, [before])).length;
}
