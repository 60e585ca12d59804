import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import type { TidyTasks } from "../../platform/tidy-task.ts";
import { deleteEmptyAuthorities } from "./authority-store.ts";
import { deleteExpired } from "./certificate-store.ts";
import { LISTED_MS } from "./rules.ts";

/** Rows that one run removes. */
const BATCH = 1_000;

/** Removes certificates that expired long ago, and deleted authorities without certificates. */
export function createTidy({ database, clock }: { database: Database; clock: Clock }) {
  return {
    certificates: () =>
      database.background.transaction(async (tx) => {
        const deleted = await deleteExpired(tx, dateOf(clock, -LISTED_MS), BATCH);
        return deleted + (deleted < BATCH ? await deleteEmptyAuthorities(tx, BATCH) : 0);
      }),
  } satisfies TidyTasks;
}
