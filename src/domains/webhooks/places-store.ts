import type { Database } from "../../platform/db/types.ts";
import { present, presentPlus } from "../../platform/db/time.ts";

/** A leased delivery. */
export interface TakenDelivery {
  deliveryId: string;
  webhookId: string;
  eventId: string;
  body: string;
  /** The trace in which the event happened. */
  traceparent: string | null;
  /** As of the lease, as `tries`: an outcome is ignored when either has changed since. */
  generation: number;
  tries: number;
  orgUuid: string;
  /** Host and port of the URL. */
  host: string;
  url: string;
  secret: Buffer;
  oldSecret: Buffer | null;
  oldSecretExpiresAt: Date | null;
}

/** Places in use by an organization or a host. */
export interface Held {
  all: number;
  /** Of posts whose endpoint has not been silent yet. */
  active: number;
}

/** How places are shared. */
export interface Shares {
  /** Free places of known endpoints, and whether they respond quickly; every other endpoint has one. */
  endpoints: ReadonlyMap<string, { free: number; isQuick: boolean }>;
  organizations: ReadonlyMap<string, Held>;
  hosts: ReadonlyMap<string, Held>;
  /** Free places: for endpoints that respond quickly, for all others, and for posts whose endpoint is not silent. */
  free: { quick: number; other: number; active: number };
  /** Maximum places of a host. */
  maxPerHost: number;
}

/** Endpoints that one statement reads. */
const WALKED = 2_000;

/**
 * Leases the deliveries of `due` until $1 plus $2 ms and reads them, key by key, so that the cost of a batch does not
 * depend on the size of the tables. `due` holds their places in the table (`ctid`). A row that another transaction has
 * changed since the statement began is left for the next lease.
 */
const taken = (lease: readonly string[]): string => `moved as (
    update webhook_deliveries set ${lease.map((column) => `${column} = ${presentPlus("$1", "$2")}`).join(", ")}
    where ctid = any(array(select tid from due))
    returning delivery_id, webhook_id, event_id, traceparent, generation, tries
  ),
  taken as (
    select moved.delivery_id as "deliveryId", moved.webhook_id as "webhookId", moved.event_id as "eventId",
      moved.traceparent, moved.generation, moved.tries, e.body, w.org_uuid as "orgUuid", ${hostOf("w.url")} as host,
      w.url, w.secret, w.old_secret as "oldSecret", w.old_secret_expires_at as "oldSecretExpiresAt"
    from moved
    cross join lateral (select body from webhook_events where event_id = moved.event_id limit 1) e
    cross join lateral (
      select org_uuid, url, secret, old_secret, old_secret_expires_at from webhooks
      where webhook_id = moved.webhook_id limit 1
    ) w
  )`;

function hostOf(url: string): string {
  return `lower(substring(${url} from '://([^/?#]*)'))`;
}

/**
 * SQL of the webhooks with pending deliveries in a queue, by id (and a null at the end): a skip scan, one index look-up
 * per webhook however many deliveries it has.
 */
export const waitingFor = (queue: "first" | "retry", after: string): string => `waiting as (
    (select webhook_id from webhook_deliveries
     where status = 'pending' and queue = '${queue}' and webhook_id > ${after} order by webhook_id limit 1)
    union all
    select (select d.webhook_id from webhook_deliveries d
      where d.status = 'pending' and d.queue = '${queue}' and d.webhook_id > waiting.webhook_id
      order by d.webhook_id limit 1)
    from waiting where waiting.webhook_id is not null
  )`;

/** Sorts before every id. */
export const NIL_UUID = "00000000-0000-0000-0000-000000000000";

const take = `with recursive ${waitingFor("first", "$3::uuid")},
  walked as materialized (select webhook_id from waiting where webhook_id is not null limit ${WALKED}),
  known as (select * from unnest($4::uuid[], $5::int[], $6::boolean[]) as k (webhook_id, free, quick)),
  organizations as (select * from unnest($7::uuid[], $8::int[], $9::int[]) as o (org_uuid, held, active)),
  hosts as (select * from unnest($10::text[], $11::int[]) as h (host, held)),
  hooks as materialized (
    select w.webhook_id, w.org_uuid, w.generation, w.failing_since is not null as failing, ${hostOf("w.url")} as host,
      coalesce(k.free, 1) as free, coalesce(k.quick, false) as quick,
      case when k.quick then $12::int else $13::int end as places,
      coalesce(o.held, 0) as held, coalesce(o.active, 0) as active
    from walked join webhooks w using (webhook_id)
      left join known k using (webhook_id) left join organizations o using (org_uuid)
    where coalesce(k.free, 1) > 0 and coalesce(o.held, 0) + 2 <= case when k.quick then $12::int else $13::int end
  ),
  open as materialized (
    select hooks.*, d.tid, d.next_attempt_at as due_at from hooks cross join lateral (
      select ctid as tid, next_attempt_at from webhook_deliveries
      where webhook_id = hooks.webhook_id and status = 'pending' and queue = 'first' and generation = hooks.generation
        and next_attempt_at <= ${present("$1")} and (leased_until is null or leased_until <= ${present("$1")})
      order by next_attempt_at limit hooks.free
    ) d
  ),
  ranked as (
    select open.*, row_number() over whose as nth,
      coalesce(hosts.held, 0) + row_number() over where_to as host_place
    from open left join hosts using (host)
    window whose as (partition by org_uuid, quick order by failing, due_at),
      where_to as (partition by open.host, quick order by failing, due_at)
  ),
  placed as (
    select ranked.*, row_number() over (partition by quick order by held + nth, due_at) as turn,
      row_number() over (order by held + nth, due_at) as turn_of_all
    from ranked where host_place <= $15::int
  ),
  chosen as materialized (
    select tid from placed
    where held + nth + turn <= places and active + nth + turn_of_all <= $14::int
    order by held + nth, due_at limit $14
  ),
  due as materialized (
    select ctid as tid from webhook_deliveries
    where ctid = any(array(select tid from chosen)) and status = 'pending'
      and (leased_until is null or leased_until <= ${present("$1")})
    for update skip locked
  ),
  ${taken(["leased_until"])}
  select c.walked, c.last, taken.* from (
    select count(*)::int as walked, (array_agg(webhook_id order by webhook_id desc))[1] as last from walked
  ) c left join taken on true`;

/**
 * Leases first attempts that are due for `leaseMs`. Places are shared so that no organization can take the last: it
 * holds at most as many as it leaves free, a host has a share of its own, and the organizations that hold least come
 * first, then the oldest deliveries. Reads 2,000 endpoints after `after`; `next` is where the walk continues, null at
 * its end. `leased` is the number of deliveries that this process has leased: at each power of two the statement is
 * prepared again, since a connection keeps its plan, and one made while the table was small scans the whole table.
 */
export async function takeFirst(
  database: Pick<Database, "prepared">,
  now: Date | null,
  leaseMs: number,
  after: string | null,
  { endpoints, organizations, hosts, free, maxPerHost }: Shares,
  leased: number,
): Promise<{ taken: TakenDelivery[]; next: string | null }> {
  const [known, orgs, places] = [[...endpoints.values()], [...organizations.values()], [...hosts.values()]];
  const rows = await database.prepared<
    { walked: number; last: string | null } & (TakenDelivery | { deliveryId: null })
  >(`webhooks-take-first-${Math.ceil(Math.log2(leased + 1))}`, take, [
    now,
    leaseMs,
    after ?? NIL_UUID,
    [...endpoints.keys()],
    known.map((one) => one.free),
    known.map((one) => one.isQuick),
    [...organizations.keys()],
    orgs.map((one) => one.all),
    orgs.map((one) => one.active),
    [...hosts.keys()],
    places.map((one) => one.all),
    free.quick,
    free.other,
    free.active,
    maxPerHost,
  ]);
  const { walked = 0, last = null } = rows[0] ?? {};
  return {
    taken: rows.filter((row): row is typeof row & TakenDelivery => row.deliveryId !== null),
    next: walked === WALKED ? last : null,
  };
}

/** Leases an endpoint's retries that are due for `leaseMs`. */
export function takeRetries(
  database: Pick<Database, "prepared">,
  webhookId: string,
  now: Date | null,
  leaseMs: number,
  limit: number,
): Promise<TakenDelivery[]> {
  return database.prepared<TakenDelivery>(
    "webhooks-take-retries",
    `with due as materialized (
       select d.tid from webhooks w cross join lateral (
         select ctid as tid from webhook_deliveries
         where webhook_id = w.webhook_id and generation = w.generation and status = 'pending' and queue = 'retry'
           and next_attempt_at <= ${present("$1")}
         order by next_attempt_at limit $4 for update skip locked
       ) d where w.webhook_id = $3
     ),
     ${taken(["next_attempt_at", "not_before"])} select * from taken`,
    [now, leaseMs, webhookId, limit],
  );
}
