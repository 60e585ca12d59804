import type { Tx } from "./types.ts";

/** Maximum number of rows that one statement updates. */
export const BATCH = 5_000;

/** An update of any number of rows, which do not match `where` afterwards. */
export interface UpdateOfMany {
  table: string;
  /** Primary key. */
  id: string;
  /** SQL after `set`, with the parameters. */
  set: string;
  /** SQL after `where`, with the parameters. */
  where: string;
}

/**
 * Updates every row that matches, in batches: customers may have any number of rows, and a statement has a time limit.
 * Includes rows that other transactions commit while a statement waits for a lock. Returns the number of rows.
 */
export async function updateInBatches(
  tx: Pick<Tx, "query">,
  { table, id, set, where }: UpdateOfMany,
  params: readonly unknown[],
): Promise<number> {
  const sql = `update ${table} set ${set}
    from (select ${id} as id from ${table} where ${where} limit ${BATCH} for no key update) as batch
    where ${table}.${id} = batch.id returning 1 as one`;
  for (let total = 0; ; ) {
    const { length } = await tx.query(sql, params);
    if (length === 0) return total;
    total += length;
  }
}
