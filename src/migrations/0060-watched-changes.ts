import { grantApp } from "../platform/db/grants.ts";
import { defineConcurrentMigration } from "../platform/db/migrator.ts";
import type { ConcurrentIndex } from "../platform/db/migrator.ts";

const calls = `
  create table if not exists install_calls (
    id bigint primary key generated always as identity,
    install_id uuid not null references installs (install_id),
    at timestamptz(3) not null,
    type text not null,
    url text not null,
    status_code integer,
    error text,
    duration_ms integer not null,
    request_body text not null,
    response text
  );
  create index if not exists install_calls_install on install_calls (install_id, id);
`;

const changes = `
  -- Webhooks whose deliveries somebody follows, on whichever instance, until then.
  create table if not exists webhook_watches (
    webhook_id uuid primary key,
    until timestamptz(3) not null
  );
  -- Deliveries that changed while they were followed. The transaction says what a reader has seen: snapshots tell those
  -- that committed since, in whichever order they did.
  create table if not exists webhook_changes (
    delivery_id uuid primary key,
    webhook_id uuid not null,
    xid xid8 not null,
    at timestamptz(3) not null
  );
  create index if not exists webhook_changes_webhook on webhook_changes (webhook_id, xid);
  create index if not exists webhook_changes_age on webhook_changes (at);
`;

/** One function for each event: transition tables differ. Neither does more than one look-up while nobody watches. */
const noting = (name: string, from: string): string => `
  create or replace function ${name}() returns trigger language plpgsql as $function$
  begin
    if not exists (select 1 from webhook_watches where until > now()) then
      return null;
    end if;
    insert into webhook_changes (delivery_id, webhook_id, xid, at)
    select n.delivery_id, n.webhook_id, pg_current_xact_id(), now() from ${from}
    join webhook_watches w on w.webhook_id = n.webhook_id and w.until > now()
    order by n.delivery_id
    on conflict (delivery_id) do update set xid = excluded.xid, at = excluded.at;
    return null;
  end
  $function$;
`;

const triggers = `
  create or replace trigger webhook_deliveries_made after insert on webhook_deliveries
    referencing new table as newer for each statement execute function note_new_deliveries();
  create or replace trigger webhook_deliveries_changed after update on webhook_deliveries
    referencing old table as older new table as newer for each statement execute function note_changed_deliveries();
`;

/** Orders of lists by `sort`, with ids as the lists have them: against the order of the field. */
const orders: readonly ConcurrentIndex[] = [
  { index: "memberships_newest", on: "memberships (org_uuid, created_at desc, user_uuid)" },
  { index: "invitations_by_email", on: "invitations (org_uuid, lower(email), uuid desc)" },
  { index: "apps_by_name", on: "apps (lower(name), app_id desc)" },
  { index: "apps_org_by_name", on: "apps (org_uuid, lower(name), app_id desc)" },
];

/** The requests of installs to their publishers, the changes of deliveries that are followed, and orders of lists. */
export const watchedChanges = defineConcurrentMigration("0060-watched-changes", [
  calls,
  changes,
  noting("note_new_deliveries", "newer n"),
  // Leases are no change: only what the contract shows counts.
  noting(
    "note_changed_deliveries",
    `newer n join older o on o.delivery_id = n.delivery_id
      and (o.status, o.attempts, o.next_attempt_at) is distinct from (n.status, n.attempts, n.next_attempt_at)`,
  ),
  triggers,
  grantApp("install_calls", "webhook_watches", "webhook_changes"),
  ...orders,
]);
