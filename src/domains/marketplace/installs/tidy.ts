import { dateOf } from "../../../platform/clock.ts";
import type { TidyTask } from "../../../platform/tidy-task.ts";
import type { MarketplaceDeps } from "../deps.ts";
import { deleteEndedInstalls } from "./tidy-store.ts";
import type { EndedInstall } from "./tidy-store.ts";

/** How long an ended install is kept, milliseconds: longer than the longest statistics, which cover 744 days. */
const KEPT_MS = 800 * 86_400_000;

/**
 * Deletes installs that ended long ago, a batch at a time. It goes on where it stopped, since many of the oldest may
 * stay for good, and begins again when it has seen all.
 */
export function createInstallTidy({ database, clock }: Pick<MarketplaceDeps, "database" | "clock">): TidyTask {
  let seen: EndedInstall | undefined;
  return async () => {
    const { deleted, last } = await deleteEndedInstalls(database, dateOf(clock, -KEPT_MS), seen);
    seen = last;
    return deleted;
  };
}
