/**
 * Handles one batch of rows that may be over and resolves to the number of rows handled. Safe to run on every instance
 * at once. Validity never depends on it: rows say how long they are valid.
 */
export type TidyTask = () => Promise<number>;

/**
 * Age of the rows that are completed where instances of an older version wrote them, milliseconds: longer than two
 * versions run side by side in a rolling upgrade.
 */
export const ROLLING_UPGRADE_MS = 86_400_000;

/** Tidy tasks by name, for the log and `test/shape/bounds.test.ts`. */
export type TidyTasks = Readonly<Record<string, TidyTask>>;
