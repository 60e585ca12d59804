import { runSql } from "./postgres.ts";

/**
 * Copies rows of a table. `values` has SQL for the columns in which copies differ, over the number `n` of a copy and
 * the row `source`.
 */
export async function copyRows(
  databaseUrl: string,
  table: string,
  { where, values, count }: { where: string; values: Readonly<Record<string, string>>; count: number },
  params: readonly unknown[] = [],
): Promise<void> {
  const columns = await runSql<{ name: string }>(
    databaseUrl,
    `select column_name as name from information_schema.columns
     where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER'`,
    [table],
  );
  const names = columns.map(({ name }) => name);
  const copied = names.map((name) => values[name] ?? `source.${name}`);
  await runSql(
    databaseUrl,
    `insert into ${table} (${names.join(", ")}) select ${copied.join(", ")}
     from ${table} source, generate_series(1, ${count}) n where ${where}`,
    [...params],
  );
}
