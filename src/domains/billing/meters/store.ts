import { createdAt, readList } from "../../../platform/db/list.ts";
import type { Listed } from "../../../platform/db/list.ts";
import type { Page } from "../../../platform/db/paging.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";

/** How values of events become one. */
export type Aggregation = "sum" | "count" | "max";

/** A meter. */
export interface MeterRow {
  id: string;
  name: string;
  eventName: string;
  unit: string;
  aggregation: Aggregation;
}

type Reader = Pick<Database, "prepared">;
const columns = `id, name, event_name as "eventName", unit, aggregation`;

/** Meters of an organization, by name. */
export function metersOf(database: Reader, orgUuid: string, page: Page): Promise<Listed<MeterRow>> {
  const sort = { name: { sql: "name", type: "text" }, created_at: createdAt() } as const;
  const id = { sql: "id", type: "uuid" } as const;
  const from = "from meters where org_uuid = $1";
  const list = { name: "meters", columns, from, params: [orgUuid], id, q: ["name", "event_name"], sort };
  return readList(database, { ...list, order: "name", ties: "with" }, page);
}

/** A meter of an organization. */
export async function findMeter(database: Reader, orgUuid: string, id: string): Promise<MeterRow | undefined> {
  const sql = `select ${columns} from meters where id = $1 and org_uuid = $2`;
  return (await database.prepared<MeterRow>("meter-read", sql, [id, orgUuid]))[0];
}

/**
 * Stores a meter. The organization's row orders concurrent additions, so that none passes the limit.
 * Returns `exists` when the event name is taken, `full` when the organization has `most` meters.
 */
export async function insertMeter(
  tx: Tx,
  orgUuid: string,
  meter: MeterRow,
  at: Date,
  most: number,
): Promise<"inserted" | "exists" | "full"> {
  await tx.query("select 1 from organizations where uuid = $1 for no key update", [orgUuid]);
  const [state] = await tx.query<{ count: number; taken: boolean }>(
    `select count(*)::int as count, coalesce(bool_or(event_name = $2), false) as taken from meters where org_uuid = $1`,
    [orgUuid, meter.eventName],
  );
  if (state?.taken === true) return "exists";
  if ((state?.count ?? 0) >= most) return "full";
  await tx.query(
    `insert into meters (id, org_uuid, name, event_name, unit, aggregation, created_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [meter.id, orgUuid, meter.name, meter.eventName, meter.unit, meter.aggregation, at],
  );
  return "inserted";
}

/**
 * Ids of an organization's meters by the names of their events. Until the transaction ends no new period begins: those
 * who record at the same time do so in one partition, whose key tells duplicates apart.
 */
export async function metersToRecord(tx: Tx, orgUuid: string, names: readonly string[]): Promise<Map<string, string>> {
  const rows = await tx.query<{ eventName: string; id: string }>(
    `select event_name as "eventName", id, pg_advisory_xact_lock_shared(hashtextextended('meter-periods', 0))::text
     from meters where org_uuid = $1 and event_name = any ($2)`,
    [orgUuid, names],
  );
  return new Map(rows.map(({ eventName, id }) => [eventName, id]));
}

/** An event to record. */
export interface NewEvent {
  id: string;
  meterId: string;
  /** A decimal. */
  value: string;
  happenedAt: Date;
}

const ADD_TOTALS = (table: string, start: string): string => `
  insert into ${table} (meter_id, start, sum, count, max)
  select meter_id, ${start}, sum(sum), sum(count), max(max) from totals group by 1, 2 order by 1, 2
  on conflict (meter_id, start) do update set sum = ${table}.sum + excluded.sum,
    count = ${table}.count + excluded.count, max = greatest(${table}.max, excluded.max)`;

// Ids in order, and buckets in order: concurrent batches with the same ones wait for each other and never in a circle.
// Earlier periods are over, so that what they hold is committed and seen; the limit keeps their lookups by index, and
// the first period has none.
// Times come as milliseconds and meters by their place, which are read faster than texts. All hours of UTC have the
// same length, so that `date_bin` finds them.
const RECORD_SQL = `
  with present as (select max(period) as period, min(period) < max(period) as follows from meter_periods),
  added as (
    insert into metered_events (org_uuid, id, meter_id, value, happened_at, received_at, period)
    select $1, e.id, ($2::uuid[])[e.meter], e.value, timestamptz 'epoch' + e.at * interval '1 ms', $7,
      (select period from present)
    from unnest($3::text[], $4::int[], $5::numeric[], $6::bigint[]) with ordinality as e (id, meter, value, at, nth)
    left join lateral (
      select true as used from metered_events o
      where (select follows from present) and o.org_uuid = $1 and o.id = e.id
        and o.period < (select period from present) limit 1) earlier on true
    where earlier.used is null
    order by e.nth
    on conflict do nothing
    returning meter_id, value, date_bin('1 hour', happened_at, timestamptz '2000-01-01 00:00:00Z') as hour),
  totals as (
    select meter_id, hour, sum(value) as sum, count(*) as count, max(value) as max from added group by 1, 2),
  hours as (${ADD_TOTALS("meter_hours", "hour")}),
  days as (${ADD_TOTALS("meter_days", "date_trunc('day', hour, 'UTC')")})
  select coalesce(sum(count), 0)::int as accepted from totals`;

/** Records events, and adds those whose id is new to the totals of their hour and day; returns how many were new. */
export async function recordEvents(tx: Tx, orgUuid: string, events: readonly NewEvent[], at: Date): Promise<number> {
  const inOrder = events.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  const meterIds = [...new Set(events.map(({ meterId }) => meterId))];
  const places = new Map(meterIds.map((id, nth) => [id, nth + 1]));
  const [row] = await tx.query<{ accepted: number }>(RECORD_SQL, [
    orgUuid,
    meterIds,
    inOrder.map(({ id }) => id),
    inOrder.map(({ meterId }) => places.get(meterId)),
    inOrder.map(({ value }) => value),
    inOrder.map(({ happenedAt }) => happenedAt.getTime()),
    at,
  ]);
  return row?.accepted ?? 0;
}

/** What a meter counted in one day, or in a part of it. */
export interface UsageRow {
  start: Date;
  sum: string;
  count: string;
  max: string;
}

// Whole days from the totals of days, whole hours beside them from those of hours, and the rest from the events: what
// is read depends on the length of the period, never on how many events there are. With $3 and $4 as bounds: d1 and d2
// enclose the whole days, h1 and h2 the whole hours. One range a part, since an index reads
// no two at once, and its ends as values: joined to the bounds, the events would be read from $2 to their end.
const USAGE_SQL = `
  with bounds as (
    select d.*, h.*
    from (select date_trunc('hour', $2::timestamptz + interval '1 hour' - interval '1 microsecond', 'UTC') as h1,
      date_trunc('hour', $3::timestamptz, 'UTC') as h2) h,
    lateral (select date_trunc('day', h1 + interval '1 day' - interval '1 microsecond', 'UTC') as d1,
      date_trunc('day', h2, 'UTC') as d2) d),
  parts as (
    select start, sum, count, max from meter_days
    where meter_id = $1 and start >= (select d1 from bounds) and start < (select d2 from bounds)
    union all
    select start, sum, count, max from meter_hours
    where meter_id = $1 and start >= (select h1 from bounds) and start < (select least(d1, h2) from bounds)
    union all
    select start, sum, count, max from meter_hours
    where meter_id = $1 and start >= (select greatest(d1, d2) from bounds) and start < (select h2 from bounds)
    union all
    select happened_at, value, 1, value from metered_events
    where meter_id = $1 and happened_at >= $2 and happened_at < (select least(h1, $3) from bounds)
    union all
    select happened_at, value, 1, value from metered_events
    where meter_id = $1 and happened_at >= (select greatest(h1, h2) from bounds) and happened_at < $3)
  select date_trunc('day', start, 'UTC') as start, sum(sum)::text as sum, sum(count)::text as count,
    max(max)::text as max
  from parts group by 1 order by 1`;

/** What a meter counted from a time until before another, by day; days without events are left out. */
export function usageByDay(database: Reader, meterId: string, from: Date, to: Date): Promise<UsageRow[]> {
  return database.prepared<UsageRow>("meter-usage", USAGE_SQL, [meterId, from, to]);
}
