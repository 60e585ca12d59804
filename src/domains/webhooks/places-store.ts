import type { Database } from "../../platform/db/types.ts";
import { present, presentPlus } from "../../platform/db/time.ts";

/** A delivery in the hands of whoever attempts it. */
export interface TakenDelivery {
  delivery_id: string;
  webhook_id: string;
  event_id: string;
  body: string;
  /** The trace of what caused it. */
  traceparent: string | null;
  /** What it was when it was taken: an outcome that comes when either has moved on counts for nothing. */
  generation: number;
  tries: number;
  org_uuid: string;
  /** Host and port of the URL. */
  host: string;
  url: string;
  secret: Buffer;
  old_secret: Buffer | null;
  old_secret_expires_at: Date | null;
}

/** How much somebody has of the places. */
export interface Held {
  /** In all. */
  all: number;
  /** Of posts that have not been met with silence yet. */
  active: number;
}

/** What places are shared by. */
export interface Shares {
  /** What endpoints that are known may begin now, and whether they answer quickly; every other may begin one. */
  endpoints: ReadonlyMap<string, { free: number; isQuick: boolean }>;
  organizations: ReadonlyMap<string, Held>;
  hosts: ReadonlyMap<string, Held>;
  /** Free places: for endpoints that answer quickly, for all others, and for posts that are not met with silence. */
  free: { quick: number; other: number; active: number };
  /** Most places of a host. */
  mostPerHost: number;
}

/** Endpoints looked at by one statement. */
const WALKED = 2_000;

/**
 * Hides what is `due` until $1 plus $2 ms and reads it. By keys alone, one after another: what a batch costs must not
 * follow the size of the tables.
 */
const taken = (lease: "leased_until" | "next_attempt_at"): string => `moved as (
    update webhook_deliveries set ${lease} = ${presentPlus("$1", "$2")} where delivery_id = any(array(select delivery_id from due))
    returning delivery_id, webhook_id, event_id, traceparent, generation, tries
  ),
  taken as (
    select moved.*, e.body, w.org_uuid, ${hostOf("w.url")} as host, w.url, w.secret, w.old_secret, w.old_secret_expires_at
    from moved
    cross join lateral (select body from webhook_events where event_id = moved.event_id limit 1) e
    cross join lateral (
      select org_uuid, url, secret, old_secret, old_secret_expires_at from webhooks where webhook_id = moved.webhook_id limit 1
    ) w
  )`;

function hostOf(url: string): string {
  return `lower(substring(${url} from '://([^/?#]*)'))`;
}

/**
 * The webhooks that something of a queue waits for, by id (and a null at the end): one look into the index each,
 * however much that is.
 */
export const waitingFor = (queue: "first" | "retry", after: string): string => `waiting as (
    (select webhook_id from webhook_deliveries where status = 'pending' and queue = '${queue}' and webhook_id > ${after}
     order by webhook_id limit 1)
    union all
    select (select d.webhook_id from webhook_deliveries d
      where d.status = 'pending' and d.queue = '${queue}' and d.webhook_id > waiting.webhook_id order by d.webhook_id limit 1)
    from waiting where waiting.webhook_id is not null
  )`;

/** Before every id. */
export const NOBODY = "00000000-0000-0000-0000-000000000000";

const take = `with recursive ${waitingFor("first", "$3::uuid")},
  walked as materialized (select webhook_id from waiting where webhook_id is not null limit ${WALKED}),
  known as (select * from unnest($4::uuid[], $5::int[], $6::boolean[]) as k (webhook_id, free, quick)),
  organizations as (select * from unnest($7::uuid[], $8::int[], $9::int[]) as o (org_uuid, held, active)),
  hosts as (select * from unnest($10::text[], $11::int[]) as h (host, held)),
  hooks as materialized (
    select w.webhook_id, w.org_uuid, w.generation, w.failing_since is not null as failing, ${hostOf("w.url")} as host,
      coalesce(k.free, 1) as free, coalesce(k.quick, false) as quick, case when k.quick then $12::int else $13::int end as places,
      coalesce(o.held, 0) as held, coalesce(o.active, 0) as active
    from walked join webhooks w using (webhook_id) left join known k using (webhook_id) left join organizations o using (org_uuid)
    where coalesce(k.free, 1) > 0 and coalesce(o.held, 0) + 2 <= case when k.quick then $12::int else $13::int end
  ),
  open as materialized (
    select hooks.*, d.delivery_id, d.next_attempt_at as due_at from hooks cross join lateral (
      select delivery_id, next_attempt_at from webhook_deliveries
      where webhook_id = hooks.webhook_id and status = 'pending' and queue = 'first' and generation = hooks.generation
        and next_attempt_at <= ${present("$1")} and (leased_until is null or leased_until <= ${present("$1")})
      order by next_attempt_at limit hooks.free
    ) d
  ),
  ranked as (
    select open.*, row_number() over whose as nth, coalesce(hosts.held, 0) + row_number() over where_to as host_place
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
    select delivery_id from placed
    where held + nth + turn <= places and active + nth + turn_of_all <= $14::int
    order by held + nth, due_at limit $14
  ),
  due as materialized (
    select delivery_id from webhook_deliveries
    where delivery_id = any(array(select delivery_id from chosen)) and status = 'pending'
      and (leased_until is null or leased_until <= ${present("$1")})
    for update skip locked
  ),
  ${taken("leased_until")}
  select c.walked, c.last, taken.* from (
    select count(*)::int as walked, (array_agg(webhook_id order by webhook_id desc))[1] as last from walked
  ) c left join taken on true`;

/**
 * Takes first attempts that are due and hides them for `leaseMs`. Places are shared so that nobody can take the last:
 * an organization holds at most as many as it leaves free, a host has a share of its own, and the least served come
 * first, then the oldest. Looks at 2,000 endpoints after `after`; `next` is where to go on, null when all were looked
 * at.
 */
export async function takeFirst(
  database: Pick<Database, "prepared">,
  now: Date | null,
  leaseMs: number,
  after: string | null,
  { endpoints, organizations, hosts, free, mostPerHost }: Shares,
): Promise<{ taken: TakenDelivery[]; next: string | null }> {
  const [known, orgs, places] = [[...endpoints.values()], [...organizations.values()], [...hosts.values()]];
  const rows = await database.prepared<
    { walked: number; last: string | null } & (TakenDelivery | { delivery_id: null })
  >("webhooks-take-first", take, [
    now,
    leaseMs,
    after ?? NOBODY,
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
    mostPerHost,
  ]);
  const { walked = 0, last = null } = rows[0] ?? {};
  return {
    taken: rows.filter((row): row is typeof row & TakenDelivery => row.delivery_id !== null),
    next: walked === WALKED ? last : null,
  };
}

/** Takes an endpoint's retries that are due and hides them for `leaseMs`. */
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
       select d.delivery_id from webhooks w cross join lateral (
         select delivery_id from webhook_deliveries
         where webhook_id = w.webhook_id and generation = w.generation and status = 'pending' and queue = 'retry'
           and next_attempt_at <= ${present("$1")}
         order by next_attempt_at limit $4 for update skip locked
       ) d where w.webhook_id = $3
     ),
     ${taken("next_attempt_at")} select * from taken`,
    [now, leaseMs, webhookId, limit],
  );
}
