import { dateOf } from "../../../platform/clock.ts";
import { ROLLING_UPGRADE_MS } from "../../../platform/tidy-task.ts";
import type { TidyTask } from "../../../platform/tidy-task.ts";
import type { BillingDeps } from "../deps.ts";
import { forgetNamedCustomers } from "./customer-store.ts";

/**
 * Corrects what instances of an older version write beside this one, in a rolling upgrade, after the migrations have
 * run: they do not note whose events name a customer, and take whoever paid at Paddle for the organization's customer.
 */
export function createOlderInstancesTidy({
  database,
  clock,
}: Pick<BillingDeps, "clock"> & { database: Pick<BillingDeps["database"], "background"> }): TidyTask {
  return () => forgetNamedCustomers(database.background, dateOf(clock, -ROLLING_UPGRADE_MS));
}
