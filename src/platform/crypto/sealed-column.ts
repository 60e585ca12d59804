/** A value of a row by the name of its column. `bytea` is read as Buffer, `bigint` as text. */
export type SealedRow = Readonly<Record<string, unknown>>;

/**
 * A column whose values are sealed. Every domain lists its own (`defineDomain`), so that `rewrap` finds them all
 * (decisions 17.10); `test/shape/sealed.test.ts` finds columns that are missing.
 */
export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** Which key seals it. */
  readonly by: "instance" | "master";
  /** Columns that identify a row, with their SQL types, in an order that an index has; rows are read by it. */
  readonly key: Readonly<Record<string, string>>;
  /** Further columns that {@link context} reads. */
  readonly reads?: readonly string[];
  /** The context that the value of a row is sealed with. */
  context(row: SealedRow): string;
  /**
   * A proof that a process has the key. It moves when everything else has: until then, a start without the previous key
   * is refused.
   */
  readonly isKeyCheck?: true;
  /** Where the box is inside a column of another type: SQL that reads it, and that stores `n.box`; rows to look at. */
  readonly inside?: { read: string; write: string; where: string };
}

/** Defines columns of one table that the instance key seals. */
export const sealedColumn = (column: Omit<SealedColumn, "by">): SealedColumn => ({ by: "instance", ...column });
