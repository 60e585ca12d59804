import type { Log } from "../log.ts";
import { isAway } from "./failure.ts";

/** Logs why repeated work on the database fails. */
export interface FailureLog {
  /** The work has failed: logs the first of consecutive failures, but none while the database is away. */
  failed(error: unknown): void;
  /** The work has succeeded: the next failure is logged again. */
  succeeded(): void;
}

/** Creates the log of one kind of work; `message` is its line. */
export function createFailureLog(log: Pick<Log, "warn">, message: string): FailureLog {
  let isFailing = false;
  return {
    failed(error) {
      if (isAway(error) || isFailing) return;
      isFailing = true;
      log.warn({ err: error }, message);
    },
    succeeded() {
      isFailing = false;
    },
  };
}
