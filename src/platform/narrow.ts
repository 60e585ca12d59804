/**
 * The value, of which other code or a constraint of the database makes sure.
 * @throws {Error} when there is none, which is a defect
 */
export function certain<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`There is no ${what}, where there always is one.`);
  return value;
}
