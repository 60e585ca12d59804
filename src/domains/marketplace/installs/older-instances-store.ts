import type { Database } from "../../../platform/db/types.ts";

/** Revokes the cloud targets of installs that have ended since a time; returns their number. */
export async function revokeEndedTargets(database: Pick<Database, "prepared">, since: Date): Promise<number> {
  const sql = `update cloud_targets t set status = 'revoked' from installs i
    where i.install_id = t.install_id and i.status = 'deprovisioned' and i.updated_at >= $1 and t.status = 'active'
    returning 1 as one`;
  return (await database.prepared("installs-ended-targets", sql, [since])).length;
}

/** Notes what installs made since a time bought, where that is missing and the app still has the plan. */
export async function noteBoughtPlans(database: Pick<Database, "prepared">, since: Date): Promise<number> {
  const sql = `update installs i set plan_name = p.name, plan_price_cents = p.price_cents, plan_currency = a.currency,
      plan_interval = p."interval"
    from apps a cross join lateral
      jsonb_to_recordset(a.plans) as p (plan_id text, name text, price_cents integer, "interval" text)
    where i.created_at >= $1 and i.plan_price_cents is null and a.app_id = i.app_id and p.plan_id = i.plan_id
    returning 1 as one`;
  return (await database.prepared("installs-bought-plans", sql, [since])).length;
}
