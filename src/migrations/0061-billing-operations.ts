import { grantApp } from "../platform/db/grants.ts";
import { defineConcurrentMigration } from "../platform/db/migrator.ts";

// What an event says was paid, and why it granted nothing: null where it did, or says no payment. Repeatable.
const columns = `
  alter table provider_events
    add column if not exists amount bigint,
    add column if not exists currency text,
    add column if not exists reason text check (reason in ('unknown_purchase', 'amount_mismatch', 'currency_mismatch')),
    add column if not exists customer_id text;
  update provider_events e set amount = (paid.fact ->> 'amount')::bigint, currency = paid.fact ->> 'currency',
    reason = case when e.quote_id is null then 'unknown_purchase'
      when lower(paid.fact ->> 'currency') <> q.currency then 'currency_mismatch'
      when (paid.fact ->> 'amount')::bigint <> q.total_cents then 'amount_mismatch' end
  from (
    select p.provider, p.event_id, p.quote_id, jsonb_path_query_first(p.facts,
      '$[*] ? (@.kind == "payment" && @.status == "paid")') as fact from provider_events p) as paid
  left join quotes q on q.quote_id = paid.quote_id
  where paid.fact is not null and (e.provider, e.event_id) = (paid.provider, paid.event_id)
`;

// Who an organization is at a provider, as its newest paid purchase says.
const customers = `
  create table if not exists billing_customers (
    provider text not null,
    org_uuid uuid not null references organizations (uuid),
    customer_id text not null,
    seen_at timestamptz not null,
    primary key (provider, org_uuid)
  )
`;

// Work of the workflow that asks the providers for events that never came, and how far it is.
const reconciliations = `
  create table if not exists reconciliations (
    id uuid primary key,
    providers text[] not null,
    start_at timestamptz not null,
    end_at timestamptz not null,
    position text,
    seen integer not null default 0,
    repaired integer not null default 0,
    requested boolean not null,
    created_at timestamptz not null,
    finished_at timestamptz
  );
  create index if not exists reconciliations_unfinished on reconciliations (id) where finished_at is null;
  create index if not exists reconciliations_age on reconciliations (created_at)
`;

/** Unmatched payments, reconciliations and customers of the providers (decisions 17.5). */
export const billingOperations = defineConcurrentMigration("0061-billing-operations", [
  columns,
  customers,
  reconciliations,
  grantApp("billing_customers", "reconciliations"),
  { index: "provider_events_reasons", on: "provider_events (received_at desc) where reason is not null" },
]);
