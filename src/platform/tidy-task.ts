/**
 * Deletes one batch of rows that are over and resolves to their number. Safe to run on every instance at once. Validity
 * never depends on it: rows say how long they are valid.
 */
export type TidyTask = () => Promise<number>;

/** Tidy tasks by name, for the log and `test/shape/bounds.test.ts`. */
export type TidyTasks = Readonly<Record<string, TidyTask>>;
