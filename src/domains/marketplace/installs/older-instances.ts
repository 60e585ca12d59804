import { dateOf } from "../../../platform/clock.ts";
import { ROLLING_UPGRADE_MS } from "../../../platform/tidy-task.ts";
import type { TidyTask } from "../../../platform/tidy-task.ts";
import type { MarketplaceDeps } from "../deps.ts";
import { noteBoughtPlans, revokeEndedTargets } from "./older-instances-store.ts";

/**
 * Completes what instances of an older version write beside this one, in a rolling upgrade, after the migrations have
 * run: they leave the cloud targets of ended installs active, and note no price of what is installed.
 */
export function createOlderInstancesTidy({ database, clock }: Pick<MarketplaceDeps, "database" | "clock">): TidyTask {
  return async () => {
    const since = dateOf(clock, -ROLLING_UPGRADE_MS);
    return (await revokeEndedTargets(database, since)) + (await noteBoughtPlans(database, since));
  };
}
