/** Largest number of items that lists count exactly (decisions 1.1). */
export const EXACT_TO = 10_000;

/** How many items a list has, as the contract prints it: exact to 10,000, and marked as an estimate beyond. */
export interface Total {
  total: number;
  totalIsEstimate?: true;
}

/**
 * SQL that counts the rows of `from …` and stops after the first that need not be counted exactly, so that its cost
 * does not follow the size of the table. To be read with {@link totalOf}.
 */
export function boundedCount(from: string): string {
  return `select count(*)::int as counted from (select 1 ${from} limit ${EXACT_TO + 1}) as first_rows`;
}

/** What a {@link boundedCount} found. Beyond 10,000 there are at least as many as it says. */
export function totalOf(rows: readonly { counted: number }[]): Total {
  const total = rows[0]?.counted ?? 0;
  return total > EXACT_TO ? { total, totalIsEstimate: true } : { total };
}
