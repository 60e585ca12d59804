import { defineMigration } from "../platform/db/migrator.ts";

const subscribes = "w.status = 'enabled' and w.events && array[of_type, '*']";

/**
 * Stores events with a delivery for each webhook that subscribes, and returns whether it added deliveries. Most
 * organizations have no webhook, and every write with an event calls this, so one look-up for webhooks of organizations
 * and one for those of the app come first: the inserts cost set-up and statement triggers even without rows. The
 * look-ups take no locks; the statement after them reads the webhooks again and locks them.
 *
 * Plans are always generic: with arrays or nulls as arguments, PostgreSQL underestimates custom plans and would plan
 * again at every call.
 */
const storing = `
  create function store_subscribed_events(
    of_type text, orgs uuid[], of_app uuid, ids text[], bodies text[], happened_at timestamptz, trace text,
    due_at timestamptz
  ) returns boolean language plpgsql set plan_cache_mode = force_generic_plan as $function$
  declare
    deliveries bigint;
  begin
    perform from webhooks w where w.scope = 'org' and w.org_uuid = any (orgs) and ${subscribes} limit 1;
    if not found then
      if of_app is null then
        return false;
      end if;
      perform from webhooks w where w.scope = 'app' and w.app_id = of_app and ${subscribes} limit 1;
      if not found then
        return false;
      end if;
    end if;
    with subscribers as materialized (
      select w.webhook_id, w.generation, w.failing_since, case when w.scope = 'org' then w.org_uuid end as only_of
      from webhooks w
      where ${subscribes}
        and ((w.scope = 'org' and w.org_uuid = any (orgs)) or (w.scope = 'app' and w.app_id = of_app))
      order by w.webhook_id for key share
    ), events as materialized (
      select e.org_uuid, e.id, e.body from unnest(orgs, ids, bodies) as e (org_uuid, id, body)
    ), stored as (
      insert into webhook_events (event_id, type, body, created_at)
      select e.id, of_type, e.body, happened_at from events e
      where exists (select from subscribers w where w.only_of is null or w.only_of = e.org_uuid)
    ), added as (
      insert into webhook_deliveries
        (delivery_id, event_id, webhook_id, generation, status, queue, next_attempt_at, created_at, traceparent)
      select gen_random_uuid(), e.id, w.webhook_id, w.generation, 'pending',
        case when open.next is null then 'first' else 'retry' end, coalesce(open.next, due_at), happened_at, trace
      from events e join subscribers w on w.only_of is null or w.only_of = e.org_uuid left join lateral (
        select min(d.next_attempt_at) as next from webhook_deliveries d
        where w.failing_since is not null and d.webhook_id = w.webhook_id and d.generation = w.generation
          and d.queue = 'retry' and d.status = 'pending'
      ) open on true
      returning 1 as one
    )
    select count(*) into deliveries from added;
    return deliveries > 0;
  end
  $function$;
`;

/** Events of webhooks in one call, which costs little where nobody subscribes (decisions 11.4). */
export const subscribedEvents = defineMigration("0124-subscribed-events", [storing]);
