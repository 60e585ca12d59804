import { defineMigration } from "../platform/db/migrator.ts";

// Writers queue an event for the chain in the statement that inserts it, so nothing depends on the order in which
// sequences are drawn and transactions commit: what is queued is visible, and what is visible is queued until it is
// linked. Events of no organization have the nil UUID as key, here and below.
const chain = `
  create table audit_pending (
    org_key uuid not null,
    event_sequence bigint not null,
    primary key (org_key, event_sequence)
  ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

  create table audit_links (
    org_key uuid not null,
    position integer not null check (position > 0),
    event_sequence bigint not null unique,
    event_id uuid not null,
    created_at timestamptz(3) not null,
    payload_hash bytea not null check (length(payload_hash) = 32),
    hash bytea not null check (length(hash) = 32),
    -- Set when the event itself has been removed because its retention is over.
    purged_at timestamptz(3),
    primary key (org_key, position)
  );
  create index audit_links_time on audit_links (org_key, created_at, position) where purged_at is null;

  create table audit_heads (
    org_key uuid primary key,
    position integer not null,
    hash bytea not null,
    signature bytea not null,
    kid text not null,
    at timestamptz(3) not null,
    -- The same statement under the instance key: proves a head whose signing key is gone.
    seal bytea not null
  );

  insert into audit_pending (org_key, event_sequence)
  select coalesce(org_uuid, '00000000-0000-0000-0000-000000000000'), sequence from audit_events;
`;

// Totals of linked events; those not yet linked are counted one by one. Level 0 is all of time, 1 a day, 2 an hour
// (UTC); the nil UUID as user stands for everybody, whose hours are kept too.
const counts = `
  create table audit_counts (
    org_key uuid not null,
    user_key uuid not null,
    level smallint not null,
    bucket timestamptz(3) not null,
    type text not null,
    outcome text not null,
    events bigint not null,
    primary key (org_key, user_key, level, bucket, type, outcome)
  ) with (fillfactor = 70);

  create function audit_count(sequences bigint[], direction integer) returns void language sql as $function$
    insert into audit_counts as c (org_key, user_key, level, bucket, type, outcome, events)
    select coalesce(e.org_uuid, '00000000-0000-0000-0000-000000000000'), cell.user_key, cell.level, cell.bucket, e.type,
      e.outcome, direction * count(*)
    from audit_events e
    cross join lateral (values
      ('00000000-0000-0000-0000-000000000000'::uuid, 0, to_timestamp(0)),
      ('00000000-0000-0000-0000-000000000000'::uuid, 1, date_trunc('day', e.created_at, 'UTC')),
      ('00000000-0000-0000-0000-000000000000'::uuid, 2, date_trunc('hour', e.created_at, 'UTC')),
      (e.user_uuid, 0, to_timestamp(0)),
      (e.user_uuid, 1, date_trunc('day', e.created_at, 'UTC'))
    ) as cell (user_key, level, bucket)
    where e.sequence = any(sequences) and cell.user_key is not null
    group by 1, 2, 3, 4, 5, 6
    order by 1, 2, 3, 4, 5, 6
    on conflict (org_key, user_key, level, bucket, type, outcome) do update set events = c.events + excluded.events
  $function$;
`;

const retention = `
  create table organization_settings (
    org_uuid uuid primary key references organizations (uuid),
    audit_retention_days integer not null check (audit_retention_days between 90 and 365),
    -- When it was seen that the plan is no longer enterprise.
    enterprise_ended_at timestamptz(3),
    updated_at timestamptz(3) not null
  );

  create function audit_retention_days(org uuid) returns integer language sql stable as $function$
    select coalesce((
      select case
        when o.plan = 'enterprise' or s.enterprise_ended_at is null
          or s.enterprise_ended_at > now() - interval '30 days'
        then s.audit_retention_days else 90 end
      from organization_settings s join organizations o on o.uuid = s.org_uuid
      where s.org_uuid = org
    ), 90)
  $function$;
`;

// The one way in which the application may remove events. It decides by the database's clock and the organization's
// retention, takes linked events only, and leaves their links, which go on proving what was there.
const purge = `
  create function audit_purge(org uuid, most integer) returns integer language plpgsql security definer as $function$
  declare
    nil constant uuid := '00000000-0000-0000-0000-000000000000';
    whose constant uuid := coalesce(org, nil);
    old timestamptz := now() - make_interval(days => audit_retention_days(org));
    gone bigint[];
  begin
    perform pg_advisory_xact_lock(hashtextextended('audit/' || whose::text, 0));
    select array_agg(due.event_sequence) into gone from (
      select l.event_sequence from audit_links l
      where l.org_key = whose and l.created_at < old and l.purged_at is null
        and exists (select from audit_events e where e.sequence = l.event_sequence and e.created_at < old
          and coalesce(e.org_uuid, nil) = whose)
      order by l.created_at limit least(most, 10000)
    ) due;
    if gone is null then
      delete from audit_counts where org_key = whose and events <= 0;
      return 0;
    end if;
    perform audit_count(gone, -1);
    delete from audit_events where sequence = any(gone);
    update audit_links set purged_at = now() where event_sequence = any(gone);
    return cardinality(gone);
  end
  $function$;

  -- Nobody's temporary tables come first.
  do $block$ begin
    execute format('alter function audit_purge(uuid, integer) set search_path = %I, pg_temp', current_schema());
  end $block$;
  revoke execute on function audit_purge(uuid, integer) from public;
`;

const grants = `
  grant select, insert, delete on audit_pending to atrium_app;
  grant select, insert on audit_links to atrium_app;
  grant select, insert, update on audit_heads, audit_counts, organization_settings to atrium_app;
  grant execute on function audit_purge(uuid, integer) to atrium_app;
`;

/** The hash chain of the audit log with its signed heads, totals for its lists, retention and purge. */
export const auditChain = defineMigration("0010-audit-chain", [chain, counts, retention, purge, grants]);
