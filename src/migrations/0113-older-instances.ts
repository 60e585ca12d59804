import { defineConcurrentMigration } from "../platform/db/migrator.ts";

// What 0090, 0092, 0093 and 0106 moved, and instances of older versions that still ran wrote once more.
const customers = `insert into customer_organizations (provider, customer_id, org_uuid)
  select distinct e.provider, e.customer_id, q.org_uuid
  from provider_events e join quotes q on q.quote_id = e.quote_id where e.customer_id is not null
  on conflict do nothing`;

const plans = `update installs i set plan_name = p.name, plan_price_cents = p.price_cents, plan_currency = a.currency,
    plan_interval = p."interval"
  from apps a cross join lateral
    jsonb_to_recordset(a.plans) as p (plan_id text, name text, price_cents integer, "interval" text)
  where a.app_id = i.app_id and p.plan_id = i.plan_id and i.plan_price_cents is null`;

const targets = `update cloud_targets t set status = 'revoked' from installs i
  where i.install_id = t.install_id and i.status = 'deprovisioned' and t.status = 'active'`;

// One that was made for the organization is stored when it is made, and not at the time of an event.
const paddle = `delete from billing_customers b where b.provider = 'paddle' and exists (
    select 1 from payments p join provider_events e on e.quote_id = p.quote_id
    where p.org_uuid = b.org_uuid and e.provider = b.provider and e.customer_id = b.customer_id
      and e.occurred_at = b.seen_at)`;

/** Completes what older instances wrote beside newer ones in a rolling upgrade; from here on tidy tasks do that. */
export const olderInstances = defineConcurrentMigration("0113-older-instances", [customers, plans, targets, paddle]);
