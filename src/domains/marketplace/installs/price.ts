import type { EntityManager } from "@mikro-orm/postgresql";
import { callerOrg } from "../../../platform/caller.ts";
import type { CallerContext } from "../../../platform/context.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";
import type { PlanInterval } from "../apps/rules.ts";
import { appById } from "../apps/store.ts";
import { marketplaceErrors } from "../errors.ts";
import type { Install } from "./entities.ts";
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

/** What a live install costs, by the plan as it was bought; undefined when its plan is unknown. */
async function priceOf(em: EntityManager, install: Install): Promise<Omit<InstallPrice, "quantity"> | undefined> {
  const { planId, planPriceCents, planCurrency, planInterval } = install;
  if (typeof planPriceCents === "number" && planCurrency && planInterval)
    return { currency: planCurrency, unitAmountCents: planPriceCents, interval: planInterval };
  // An instance of an earlier version stored the id of the plan alone.
  const app = await appById(em, install.appId);
  const plan = app?.plans.find(({ plan_id: id }) => id === planId);
  if (app === null || plan === undefined) return undefined;
  return { currency: app.currency, unitAmountCents: plan.price_cents, interval: plan.interval };
}

/** Creates a function that returns what a live install of the caller's organization costs. */
export function createInstallPrice(database: Pick<Database, "read">) {
  /**
   * @throws {install_not_found} when the organization has no such install, or it has ended
   * @throws {invalid_plan} when its plan is unknown
   */
  return ({ caller }: CallerContext, installId: string): Promise<InstallPrice> =>
    database.read(async (em) => {
      const install = await installById(em, installId);
      const live = install !== null && ["provisioning", "active", "suspended"].includes(install.status);
      if (!live || install.orgUuid !== callerOrg(caller)) throw marketplaceErrors.installNotFound();
      const price = await priceOf(em, install);
      if (price === undefined)
        throw marketplaceErrors.invalidPlan({
          message: "The app no longer has the plan of this install; uninstall it and choose another plan.",
        });
      return { ...price, quantity: install.quantity };
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
