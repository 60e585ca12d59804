import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";

/** Folder for what the statements of each row cost the database; undefined where nobody asked. */
export const statementsFolder = process.env["BENCH_STATEMENTS"];

/** Settings of a PostgreSQL whose statements are counted. */
export const countingSettings: Readonly<Record<string, string>> =
  statementsFolder === undefined
    ? {}
    : { shared_preload_libraries: "pg_stat_statements", "pg_stat_statements.track": "all" };

interface StatementCost {
  calls: string;
  ms: string;
  us: string;
  wal: string;
  name: string;
  query: string;
}

const costs = `
  select s.calls, round(s.total_exec_time)::text as ms, round(s.mean_exec_time * 1000)::text as us,
    round(s.wal_records::numeric / s.calls, 1)::text as wal,
    case when s.toplevel then d.datname else d.datname || ' (inside)' end as name,
    left(regexp_replace(s.query, '\\s+', ' ', 'g'), 300) as query
  from pg_stat_statements s join pg_database d on d.oid = s.dbid
  where s.calls >= 20 order by s.total_exec_time desc limit 60`;

/** Writes what the statements since the last call cost to `<row>.txt` in the folder, the most expensive first. */
export async function writeStatements(url: string, row: string): Promise<void> {
  if (statementsFolder === undefined) return;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("create extension if not exists pg_stat_statements");
    const { rows } = await client.query<StatementCost>(costs);
    const lines = rows.map(({ calls, ms, us, wal, name, query }) =>
      [calls.padStart(9), ms.padStart(9), us.padStart(9), wal.padStart(7), ` ${name}: ${query}`].join(" "),
    );
    mkdirSync(statementsFolder, { recursive: true });
    const head = "    calls        ms   us/call WAL/call  statement";
    writeFileSync(join(statementsFolder, `${row}.txt`), `${[head, ...lines].join("\n")}\n`);
    await client.query("select pg_stat_statements_reset()");
  } finally {
    await client.end();
  }
}
