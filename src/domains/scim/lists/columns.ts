/** SQL expressions of columns by the properties of a row. */
export type Columns = Readonly<Record<string, string>>;

/** The list of a SELECT that gives these columns. */
export function selected(columns: Columns): string {
  return Object.entries(columns)
    .map(([property, sql]) => `${sql} as "${property}"`)
    .join(", ");
}
