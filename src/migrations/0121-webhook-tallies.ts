import { grantApp } from "../platform/db/grants.ts";
import { defineConcurrentMigration } from "../platform/db/migrator.ts";

const tallies = `
  -- Settled deliveries of a webhook by the hour (UTC) of their creation. No foreign key: a delivery is settled without
  -- a lock of its webhook.
  create table if not exists webhook_tallies (
    webhook_id uuid not null,
    hour timestamptz(3) not null,
    delivered integer not null,
    failed integer not null,
    primary key (webhook_id, hour)
  ) with (fillfactor = 70);
  create index if not exists webhook_tallies_hour on webhook_tallies (hour);
`;

/** Settled rows of a transition table, each counted with a sign. */
const settledIn = (table: string, sign: "" | "-"): string => `
      select webhook_id, date_trunc('hour', created_at, 'UTC') as hour, ${sign}(status = 'delivered')::int as delivered,
        ${sign}(status = 'failed')::int as failed
      from ${table} where status <> 'pending'`;

/** In the order of the key: two statements that change the same hours never wait for each other. */
const adding = `group by 1, 2 having sum(delivered) <> 0 or sum(failed) <> 0 order by 1, 2
    on conflict (webhook_id, hour) do update
    set delivered = t.delivered + excluded.delivered, failed = t.failed + excluded.failed;`;

/** Deliveries are made pending, so that only changes count. Deletions do not: tallies are purged by themselves. */
const counting = `
  create or replace function tally_deliveries() returns trigger language plpgsql as $function$
  begin
    if not exists (select 1 from newer where status <> 'pending')
       and not exists (select 1 from older where status <> 'pending') then
      return null;
    end if;
    insert into webhook_tallies as t (webhook_id, hour, delivered, failed)
    select webhook_id, hour, sum(delivered), sum(failed)
    from (${settledIn("newer", "")}
      union all${settledIn("older", "-")}
    ) c
    ${adding}
    return null;
  end
  $function$;
`;

/** Corrects the tallies of a webhook. One statement, so that a change is in both of what it compares or in neither. */
const correcting = `
  create or replace function tally_webhook(webhook uuid) returns void language sql as $function$
    insert into webhook_tallies as t (webhook_id, hour, delivered, failed)
    select webhook, hour, sum(delivered), sum(failed)
    from (
      select date_trunc('hour', created_at, 'UTC') as hour, count(*) filter (where status = 'delivered') as delivered,
        count(*) filter (where status = 'failed') as failed
      from webhook_deliveries where webhook_id = webhook and status in ('delivered', 'failed') group by 1
      union all
      select hour, -delivered, -failed from webhook_tallies where webhook_id = webhook
    ) c
    ${adding}
  $function$;
`;

const trigger = `
  create or replace trigger webhook_deliveries_settled after update on webhook_deliveries
    referencing old table as older new table as newer for each statement execute function tally_deliveries();
`;

/** A transaction for each webhook: what settles its deliveries meanwhile waits for one alone. */
const existing = `
  do $$
  declare webhook uuid;
  begin
    for webhook in select webhook_id from webhooks order by webhook_id loop
      perform tally_webhook(webhook);
      commit;
    end loop;
  end $$
`;

/** Settled deliveries counted by webhook and hour, for statistics. */
export const webhookTallies = defineConcurrentMigration("0121-webhook-tallies", [
  tallies,
  grantApp("webhook_tallies"),
  counting,
  correcting,
  trigger,
  existing,
]);
