import type pg from "pg";
import { isCanceled, isUnavailable } from "./failure.ts";

/** An invalid index. */
interface InvalidIndex {
  /** Quoted. */
  name: string;
  table: string;
  /** Whether an interrupted `reindex concurrently` left it beside the index itself; PostgreSQL says to drop it then. */
  isLeftover: boolean;
}

/**
 * Invalid indexes of the schema, but for those that are being built. Those of a partitioned table as a whole depend on
 * its partitions' ones.
 */
const INVALID = `select i.indexrelid::regclass::text as name, i.indrelid::regclass::text as "table",
    c.relname ~ '_cc(new|old)[0-9]*$' as "isLeftover"
  from pg_index i join pg_class c on c.oid = i.indexrelid
  where not i.indisvalid and c.relkind = 'i' and c.relnamespace = current_schema()::regnamespace
    and pg_has_role(c.relowner, 'usage')
    and not exists (select 1 from pg_stat_progress_create_index p where p.relid = i.indrelid)
  order by 1`;

/** Drops what interrupted `reindex concurrently` left; returns the other invalid indexes. */
async function dropLeftovers(client: pg.Client, say: (line: string) => void): Promise<InvalidIndex[]> {
  const { rows } = await client.query<InvalidIndex>(INVALID);
  for (const { name, table } of rows.filter(({ isLeftover }) => isLeftover)) {
    say(`The index ${name} of the table ${table} was left by a reindex; dropping it`);
    await client.query(`drop index concurrently if exists ${name}`);
  }
  return rows.filter(({ isLeftover }) => !isLeftover);
}

/**
 * Rebuilds indexes that became invalid after the migration that made them had run, while writes to their tables
 * continue. One that cannot be rebuilt is named, and keeps no instance from starting.
 * @param connect opens a connection of the schema's owner
 */
export async function rebuildInvalidIndexes(
  connect: () => Promise<pg.Client>,
  say: (line: string) => void,
): Promise<void> {
  const client = await connect();
  try {
    for (const { name, table } of await dropLeftovers(client, say)) {
      say(`The index ${name} of the table ${table} is invalid; rebuilding it`);
      try {
        await client.query(`reindex index concurrently ${name}`);
      } catch (error) {
        if (isUnavailable(error) && !isCanceled(error)) throw error;
        say(`The index ${name} stays invalid: ${(error as Error).message}`);
        await dropLeftovers(client, say);
      }
    }
  } finally {
    await client.end().catch(() => undefined);
  }
}
