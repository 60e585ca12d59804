import { defineMigration } from "../platform/db/migrator.ts";

// Whatever a list is narrowed to, one of these gives its page in order without passing over events it does not show:
// lists read successes and failures apart and merge them, so that neither hides among many of the other.
const indexes = `
  create index audit_events_outcome on audit_events (org_uuid, outcome, created_at desc, sequence desc);
  create index audit_events_auth_outcome on audit_events (org_uuid, outcome, created_at desc, sequence desc)
    where is_auth;
  create index audit_events_type_outcome on audit_events (org_uuid, type, outcome, created_at desc, sequence desc);
  create index audit_events_user_outcome on audit_events (org_uuid, user_uuid, outcome, created_at desc, sequence desc);
  create index audit_events_user_auth on audit_events (org_uuid, user_uuid, outcome, created_at desc, sequence desc)
    where is_auth;
  create index audit_events_user_type
    on audit_events (org_uuid, user_uuid, type, outcome, created_at desc, sequence desc);
  drop index audit_events_auth, audit_events_type, audit_events_user, audit_events_failures;
`;

// Level 3 is a minute, for everybody; people get hours too. So few events at the edges of a range are counted one by
// one, however many there are in an hour.
const counts = `
  create or replace function audit_count(sequences bigint[], direction integer) returns void language sql as $function$
    insert into audit_counts as c (org_key, user_key, level, bucket, type, outcome, events)
    select coalesce(e.org_uuid, '00000000-0000-0000-0000-000000000000'), cell.user_key, cell.level, cell.bucket, e.type,
      e.outcome, direction * count(*)
    from audit_events e
    cross join lateral (values
      ('00000000-0000-0000-0000-000000000000'::uuid, 0, to_timestamp(0)),
      ('00000000-0000-0000-0000-000000000000'::uuid, 1, date_trunc('day', e.created_at, 'UTC')),
      ('00000000-0000-0000-0000-000000000000'::uuid, 2, date_trunc('hour', e.created_at, 'UTC')),
      ('00000000-0000-0000-0000-000000000000'::uuid, 3, date_trunc('minute', e.created_at, 'UTC')),
      (e.user_uuid, 0, to_timestamp(0)),
      (e.user_uuid, 1, date_trunc('day', e.created_at, 'UTC')),
      (e.user_uuid, 2, date_trunc('hour', e.created_at, 'UTC'))
    ) as cell (user_key, level, bucket)
    where e.sequence = any(sequences) and cell.user_key is not null
    group by 1, 2, 3, 4, 5, 6
    order by 1, 2, 3, 4, 5, 6
    on conflict (org_key, user_key, level, bucket, type, outcome) do update set events = c.events + excluded.events
  $function$;

  insert into audit_counts (org_key, user_key, level, bucket, type, outcome, events)
  select coalesce(e.org_uuid, '00000000-0000-0000-0000-000000000000'), cell.user_key, cell.level, cell.bucket, e.type,
    e.outcome, count(*)
  from audit_links l
  join audit_events e on e.sequence = l.event_sequence
  cross join lateral (values
    ('00000000-0000-0000-0000-000000000000'::uuid, 3, date_trunc('minute', e.created_at, 'UTC')),
    (e.user_uuid, 2, date_trunc('hour', e.created_at, 'UTC'))
  ) as cell (user_key, level, bucket)
  where cell.user_key is not null
  group by 1, 2, 3, 4, 5, 6;
`;

/** Indexes for every filter of the audit log's lists, and finer totals. */
export const auditLists = defineMigration("0014-audit-lists", [indexes, counts]);
