import type { Tx } from "./types.ts";

/** Rows that one statement updates. */
export const PIECE = 5_000;

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
 * Updates every row that matches, some thousands in a statement: customers may have any number of rows, and a statement
 * has a time limit. Also those that other transactions add while a statement waits for them. Returns how many.
 */
export async function updateInPieces(
  tx: Pick<Tx, "query">,
  { table, id, set, where }: UpdateOfMany,
  params: readonly unknown[],
): Promise<number> {
  const sql = `update ${table} set ${set}
    from (select ${id} as id from ${table} where ${where} limit ${PIECE} for no key update) as piece
    where ${table}.${id} = piece.id returning 1 as one`;
  for (let total = 0; ; ) {
    const { length } = await tx.query(sql, params);
    if (length === 0) return total;
    total += length;
  }
}
