import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/** The plan of an install as it was bought; null where the app no longer has the plan of an earlier install. */
const columns = `alter table installs
  add column if not exists plan_name text,
  add column if not exists plan_price_cents integer,
  add column if not exists plan_currency text,
  add column if not exists plan_interval text`;

const fill = `update installs i set plan_name = p.name, plan_price_cents = p.price_cents, plan_currency = a.currency,
    plan_interval = p."interval"
  from apps a cross join lateral
    jsonb_to_recordset(a.plans) as p (plan_id text, name text, price_cents integer, "interval" text)
  where a.app_id = i.app_id and p.plan_id = i.plan_id and i.plan_price_cents is null`;

/** What installs bought, so that later changes of an app's plans do not change it. */
export const boughtPlans = defineConcurrentMigration("0092-bought-plans", [columns, fill]);
