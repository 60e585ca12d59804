import type { Tx } from "../db/types.ts";
import type { SealedColumn, SealedRow } from "./sealed-column.ts";

/** A sealed value of one row. */
export interface BoxRow {
  /** Values of the key's columns. */
  readonly key: readonly unknown[];
  readonly box: Buffer;
  readonly row: SealedRow;
}

const list = (parts: readonly string[]): string => parts.join(", ");

/** The boxes of a column in the order of its key, after a position. */
export async function pageOfBoxes(
  tx: Tx,
  { table, column, key, reads = [], inside }: SealedColumn,
  after: readonly unknown[] | undefined,
  limit: number,
): Promise<BoxRow[]> {
  const names = Object.keys(key);
  const box = inside?.read ?? `t.${column}`;
  const position = Object.values(key).map((type, at) => `$${at + 1}::${type}`);
  const conditions = [
    `${box} is not null`,
    ...(inside === undefined ? [] : [inside.where]),
    ...(after === undefined ? [] : [`(${list(names)}) > (${list(position)})`]),
  ];
  const rows = await tx.query<Record<string, unknown> & { sealed_box: Buffer }>(
    `select ${list([...names, ...reads])}, ${box} as sealed_box from ${table} t
     where ${conditions.join(" and ")} order by ${list(names)} limit ${limit}`,
    after ?? [],
  );
  return rows.map((row) => ({ key: names.map((name) => row[name]), box: row.sealed_box, row }));
}

/** Locks the rows of boxes until the transaction ends, except those that another one has locked. @returns its boxes */
export async function lockFree<B extends BoxRow>(
  tx: Tx,
  { table, key }: SealedColumn,
  boxes: readonly B[],
): Promise<B[]> {
  const names = Object.keys(key);
  const arrays = Object.values(key).map((type, at) => `$${at + 1}::${type}[]`);
  const rows = await tx.query<{ nth: number }>(
    `select n.nth::int from unnest(${list(arrays)}) with ordinality as n (${list([...names, "nth"])})
     join ${table} t using (${list(names)}) order by n.nth for no key update of t skip locked`,
    names.map((_, at) => boxes.map((one) => one.key[at])),
  );
  return rows.flatMap(({ nth }) => boxes[nth - 1] ?? []);
}

/** Replaces boxes that are still the ones that were read. @returns their number */
export async function replaceBoxes(
  tx: Tx,
  { table, column, key, inside }: SealedColumn,
  boxes: readonly (BoxRow & { fresh: Buffer })[],
): Promise<number> {
  const names = Object.keys(key);
  const arrays = Object.values(key).map((type, at) => `$${at + 1}::${type}[]`);
  const places = [`$${names.length + 1}::bytea[]`, `$${names.length + 2}::bytea[]`];
  const rows = await tx.query(
    `update ${table} t set ${column} = ${inside?.write ?? "n.box"}
     from unnest(${list([...arrays, ...places])}) as n (${list([...names, "was", "box"])})
     where ${names.map((name) => `t.${name} = n.${name}`).join(" and ")} and ${inside?.read ?? `t.${column}`} = n.was
     returning 1 as one`,
    [
      ...names.map((_, at) => boxes.map((one) => one.key[at])),
      boxes.map((one) => one.box),
      boxes.map((one) => one.fresh),
    ],
  );
  return rows.length;
}
