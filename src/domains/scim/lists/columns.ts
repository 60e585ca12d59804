/** SQL expressions of columns by the properties of a row. */
export type Columns = Readonly<Record<string, string>>;

/** The select list of these columns. */
export function selectList(columns: Columns): string {
  return Object.entries(columns)
    .map(([property, sql]) => `${sql} as "${property}"`)
    .join(", ");
}
