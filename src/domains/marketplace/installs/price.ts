import { callerOrg } from "../../../platform/caller.ts";
import type { CallerContext } from "../../../platform/context.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";
import type { PlanInterval } from "../apps/rules.ts";
import { appById } from "../apps/store.ts";
import { marketplaceErrors } from "../errors.ts";
import { installById } from "./store.ts";

/** What an install costs in each period. */
export interface InstallPrice {
  /** ISO 4217, lower case. */
  currency: string;
  /** Of one seat, minor units. */
  unitAmountCents: number;
  quantity: number;
  interval: PlanInterval;
}

/** Creates a function that returns what a live install of the caller's organization costs, by the plan of its app. */
export function createInstallPrice(database: Pick<Database, "read">) {
  /** @throws {install_not_found} when the organization has no such install, or it has ended */
  return ({ caller }: CallerContext, installId: string): Promise<InstallPrice> =>
    database.read(async (em) => {
      const install = await installById(em, installId);
      const live = install !== null && ["provisioning", "active", "suspended"].includes(install.status);
      if (!live || install.orgUuid !== callerOrg(caller)) throw marketplaceErrors.installNotFound();
      const app = await appById(em, install.appId);
      const plan = app?.plans.find(({ plan_id: id }) => id === install.planId);
      // The publisher has taken the plan out of the app.
      if (app === null || plan === undefined) throw marketplaceErrors.installNotFound();
      const { price_cents: unitAmountCents, interval } = plan;
      return { currency: app.currency, unitAmountCents, quantity: install.quantity, interval };
    });
}

/** Locks installs until the transaction ends, so that they keep their states; returns those whose end has begun. */
export async function lockEnded(tx: Tx, installIds: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await tx.query<{ id: string; ended: boolean }>(
    `select install_id as id, status in ('deprovisioning', 'deprovisioned') as ended from installs
     where install_id = any ($1) order by install_id for no key update`,
    [installIds],
  );
  return new Set(rows.filter(({ ended }) => ended).map(({ id }) => id));
}

/** Notes the payment of an install that has not ended: where it came from, and until when it is paid. */
export async function notePayment(
  tx: Tx,
  installId: string,
  source: string,
  periodEnd: Date | null,
  at: Date,
): Promise<void> {
  await tx.query(
    `update installs set payment_source = $2, current_period_end = $3, updated_at = $4
     where install_id = $1 and status <> 'deprovisioned'
       and (payment_source, current_period_end) is distinct from ($2, $3)`,
    [installId, source, periodEnd, at],
  );
}
