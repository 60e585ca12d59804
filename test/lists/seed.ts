import pg from "pg";
import { tables } from "./seeded-tables.ts";

/** Rows of each table in the planner's statistics; all of them exist when `ATRIUM_TEST_ROWS` says so. */
const ROWS = 1_000_000;
/**
 * Rows that are made of each table otherwise: the plans are the same, and the suite has not the minutes for all of
 * them.
 */
export const FEW_ROWS = 20_000;
/** Rows inserted by one statement. */
const BATCH = 100_000;

/** Seeded tables. */
export const seeded: readonly string[] = Object.keys(tables);

/** SQL with the ids of the large organization in place of their names; an id that is missing is nobody's. */
function named(sql: string, ids: Readonly<Record<string, string>>): string {
  return sql.replaceAll(
    /\$([a-z]+)/gu,
    (_, name: string) => pg.escapeLiteral(ids[name] ?? "") + (name === "n" ? "" : "::uuid"),
  );
}

/** Indexes of a table without a constraint: they are built after its rows, in a tenth of the time. */
async function withoutIndexes(client: pg.Client, table: string, fill: () => Promise<void>): Promise<void> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
     where indrelid = $1::regclass and not indisunique`,
    [table],
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  await fill();
  for (const { definition } of rows) await client.query(definition);
}

/**
 * Fills every table that a list reads: copies of a row that the service made, so that they are as its rows are. The
 * statistics of the planner say a million of each, however many are inserted: it decides by that number.
 */
export async function seed(databaseUrl: string, ids: Readonly<Record<string, string>>, made = FEW_ROWS): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    // Without foreign keys and triggers: the rows referred to do not matter here.
    await client.query("set session_replication_role = replica");
    await client.query("set synchronous_commit = off");
    await client.query("set maintenance_work_mem = '512MB'");
    for (const [table, { like, model, differ }] of Object.entries(tables)) {
      const { rows } = await client.query<{ name: string }>(
        `select column_name as name from information_schema.columns where table_schema = 'public' and table_name = $1
           and is_generated = 'NEVER' and is_identity = 'NO'`,
        [table],
      );
      const columns = rows.map(({ name }) => name);
      if (model !== undefined) await client.query(named(model, ids));
      const values = columns.map((name) => named(differ[name] ?? `t.${name}`, ids));
      await client.query(`create temporary table model as select * from ${table} where ${named(like, ids)} limit 1`);
      const batch = `insert into ${table} (${columns.join(", ")}) select ${values.join(", ")}
        from model t, generate_series($1::int, $2::int) n`;
      await withoutIndexes(client, table, async () => {
        for (let from = 1; from <= made; from += BATCH) {
          const { rowCount } = await client.query(batch, [from, Math.min(made, from + BATCH - 1)]);
          if (rowCount === 0) throw new Error(`${table} has no row to copy`);
        }
      });
      await client.query("drop table model");
    }
    await client.query(`vacuum analyze ${seeded.join(", ")}`);
    await client.query(
      `update pg_class set reltuples = reltuples * ${ROWS / made} where reltuples > 0
         and oid in (select unnest(array[indrelid, indexrelid]) from pg_index where indrelid = any($1::regclass[]))`,
      [seeded],
    );
  } finally {
    await client.end();
  }
}
