import { dateOf } from "../../../platform/clock.ts";
import type { TidyTask } from "../../../platform/tidy-task.ts";
import type { BillingDeps } from "../deps.ts";
import { forgetNamedCustomers } from "./customer-store.ts";

/** Age of the rows that are looked at, milliseconds: longer than instances of two versions run side by side. */
const RECENT_MS = 86_400_000;

/**
 * Corrects what instances of an older version write beside this one, in a rolling upgrade, after the migrations have
 * run: they do not note whose events name a customer, and take whoever paid at Paddle for the organization's customer.
 */
export function createOlderInstancesTidy({
  database,
  clock,
}: Pick<BillingDeps, "clock"> & { database: Pick<BillingDeps["database"], "background"> }): TidyTask {
  return () => forgetNamedCustomers(database.background, dateOf(clock, -RECENT_MS));
}
