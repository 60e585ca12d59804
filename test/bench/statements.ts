import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";

/** Folder for what the statements of each row cost the database; undefined when BENCH_STATEMENTS is not set. */
export const STATEMENTS_FOLDER = process.env["BENCH_STATEMENTS"];

/** Settings of a PostgreSQL whose statements are counted. */
export const COUNTING_SETTINGS: Readonly<Record<string, string>> =
  STATEMENTS_FOLDER === undefined
    ? {}
    : { shared_preload_libraries: "pg_stat_statements", "pg_stat_statements.track": "all" };

interface StatementCost {
  calls: string;
  ms: string;
  us: string;
  wal: string;
  database: string;
  query: string;
}

const costs = `
  select s.calls, round(s.total_exec_time)::text as ms, round(s.mean_exec_time * 1000)::text as us,
    round(s.wal_records::numeric / s.calls, 1)::text as wal,
    case when s.toplevel then d.datname else d.datname || ' (inside)' end as database,
    left(regexp_replace(s.query, '\\s+', ' ', 'g'), 300) as query
  from pg_stat_statements s join pg_database d on d.oid = s.dbid
  where s.calls >= 20 order by s.total_exec_time desc limit 60`;

/** Writes what the statements since the last call cost to `<row>.txt` in a folder, the most expensive first. */
export async function writeStatements(folder: string, url: string, row: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("create extension if not exists pg_stat_statements");
    const { rows } = await client.query<StatementCost>(costs);
    const lines = rows.map(({ calls, ms, us, wal, database, query }) =>
      [calls.padStart(9), ms.padStart(9), us.padStart(9), wal.padStart(7), ` ${database}: ${query}`].join(" "),
    );
    mkdirSync(folder, { recursive: true });
    const head = "    calls        ms   us/call WAL/call  statement";
    writeFileSync(join(folder, `${row}.txt`), `${[head, ...lines].join("\n")}\n`);
    await client.query("select pg_stat_statements_reset()");
  } finally {
    await client.end();
  }
}
