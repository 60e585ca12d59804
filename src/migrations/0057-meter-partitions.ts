import { defineConcurrentMigration } from "../platform/db/migrator.ts";

// The table of before becomes the first partition and keeps its name, so that instances of the version before go on
// writing to it. A validated check spares attaching it a scan.
const firstPartition = `
  alter table meter_events add column if not exists period integer not null default 1;
  alter table meter_events drop constraint if exists meter_events_period;
  alter table meter_events add constraint meter_events_period check (period = 1) not valid;
`;
const validated = "alter table meter_events validate constraint meter_events_period";

// Ids are unique in each partition by its primary key; across partitions by the statement that records events.
const partitioned = `
  create table if not exists metered_events (
    org_uuid uuid not null,
    id text not null,
    meter_id uuid not null,
    value numeric not null,
    happened_at timestamptz not null,
    received_at timestamptz not null,
    period integer not null
  ) partition by list (period);
  create index if not exists metered_events_time on metered_events (meter_id, happened_at);
  do $block$ begin
    if not exists (select from pg_inherits where inhrelid = 'meter_events'::regclass) then
      alter table metered_events attach partition meter_events for values in (1);
    end if;
  end $block$;
`;

// Periods of reception; the newest is the one in which events are recorded. Whoever records events holds the lock
// shared, and a period begins with the lock held alone: transactions in progress never record in different periods.
const periods = `
  create table if not exists meter_periods (
    period integer primary key,
    begins_at timestamptz not null
  );
  insert into meter_periods values (1, now()) on conflict do nothing;
`;

// Partitions belong to the owner of the schema, so the application adds and drops them by this function alone. It does
// one thing a call, returns whether it did one, and gives up after two seconds behind a long transaction.
const turn = `
  create or replace function meter_periods_turn(at timestamptz, lasts interval, kept interval) returns boolean
  language plpgsql security definer set lock_timeout = '2s' as $function$
  declare
    newest record;
    old integer;
  begin
    if not pg_try_advisory_xact_lock(hashtextextended('meter-periods-turn', 0)) then return false; end if;
    select * into newest from meter_periods order by period desc limit 1;
    if newest.begins_at <= at - lasts then
      execute format('create table metered_events_%s (like metered_events, primary key (org_uuid, id))',
        newest.period + 1);
      execute format('alter table metered_events attach partition metered_events_%1$s for values in (%1$s)',
        newest.period + 1);
      perform pg_advisory_xact_lock(hashtextextended('meter-periods', 0));
      insert into meter_periods values (newest.period + 1, at);
      return true;
    end if;
    select p.period into old from meter_periods p join meter_periods next on next.period = p.period + 1
    where next.begins_at <= at - kept order by p.period limit 1;
    if old is null then return false; end if;
    execute format('drop table %I', case old when 1 then 'meter_events' else 'metered_events_' || old end);
    delete from meter_periods where period = old;
    return true;
  exception when lock_not_available then return false;
  end
  $function$;

  -- Nobody's temporary tables come first.
  do $block$ begin
    execute format('alter function meter_periods_turn(timestamptz, interval, interval) set search_path = %I, pg_temp',
      current_schema());
  end $block$;
  revoke execute on function meter_periods_turn(timestamptz, interval, interval) from public;
`;

const grants = `
  grant select, insert on metered_events to atrium_app;
  grant select on meter_periods to atrium_app;
  grant execute on function meter_periods_turn(timestamptz, interval, interval) to atrium_app;
`;

/** Partitions of meter events by the time of their reception: old ones are dropped, not deleted. */
export const meterPartitions = defineConcurrentMigration("0057-meter-partitions", [
  firstPartition,
  validated,
  partitioned,
  periods,
  turn,
  grants,
]);
