import type { Database, Tx } from "./types.ts";

/** Where a statement runs: prepared and outside transactions, or in one. */
export type Source = Pick<Database, "prepared"> | Pick<Tx, "query">;

/** Rows of a statement; `name` is that of the prepared one. */
export function rowsOf<R extends object>(
  source: Source,
  name: string,
  sql: string,
  params: readonly unknown[],
): Promise<R[]> {
  return "query" in source ? source.query<R>(sql, params) : source.prepared<R>(name, sql, params);
}
