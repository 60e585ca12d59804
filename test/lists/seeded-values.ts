/** How a table is seeded: names with `$` are ids of the large organization. */
export interface SeededTable {
  /** Which of its rows is copied, as a condition. */
  like: string;
  /** Makes that row, where the service makes none without a worker. */
  model?: string;
  /** What differs from row to row, as SQL over the row `t` that is copied and its number `n`. Others are as in `t`. */
  differ: Readonly<Record<string, string>>;
}

// SQL over the row `t` that is copied and its number `n`.

export const uuid = "gen_random_uuid()";
/** Rows are a second apart. */
export const ago = "now() - n * interval '1 second'";
export const email = "'seeded' || n || '@people.test'";
/** Nine of ten rows belong to the large organization, each other one to another organization. */
export const mostly = (column: string, other = uuid): string =>
  `case when n % 10 = 0 then ${other} else t.${column} end`;
/**
 * One row of twenty is the organization's: lists of what an organization has few of, or that are over by themselves.
 */
export const hardly = (column: string): string => `case when n % 20 = 0 then t.${column} else gen_random_uuid() end`;
/** Five rows are the organization's: what the service lets nobody have many of. */
export const few = (column: string): string => `case when n <= 5 then t.${column} else gen_random_uuid() end`;
/** One of 1,000 organizations that exist. */
export const someOrganization = "(array(select uuid from organizations order by uuid limit 1000))[1 + n % 1000]";
export const oneOf = (...values: string[]): string =>
  `(array[${values.map((value) => `'${value}'`).join(", ")}])[1 + n % ${values.length}]`;
