import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

// Amounts are minor units of their currency; values of meters and tax rates are exact decimals. Prices never change.
const tables = `
  create table prices (
    price_id integer primary key generated always as identity,
    product text not null,
    plan text references plans (plan),
    interval text not null check (interval in ('month', 'year', 'once')),
    currency text not null,
    unit_amount_cents integer not null,
    tax_percent numeric,
    regions jsonb not null,
    active boolean not null default true,
    created_at timestamptz not null
  );
  create table quotes (
    quote_id uuid primary key,
    org_uuid uuid not null references organizations (uuid),
    price_id integer references prices (price_id),
    install_id uuid references installs (install_id),
    seats integer not null,
    currency text not null,
    region text not null,
    unit_amount_cents integer not null,
    subtotal_cents integer not null,
    tax_cents integer not null,
    total_cents integer not null,
    issued_by text not null,
    issued_at timestamptz not null,
    expires_at timestamptz not null,
    consumed_at timestamptz,
    check ((price_id is null) <> (install_id is null))
  );
  create index quotes_expiry on quotes (expires_at) where consumed_at is null;
  create table meters (
    id uuid primary key,
    org_uuid uuid not null references organizations (uuid),
    name text not null,
    event_name text not null,
    unit text not null,
    aggregation text not null check (aggregation in ('sum', 'count', 'max')),
    created_at timestamptz not null,
    unique (org_uuid, event_name)
  );
  create table meter_events (
    org_uuid uuid not null,
    id text not null,
    meter_id uuid not null,
    value numeric not null,
    happened_at timestamptz not null,
    received_at timestamptz not null,
    primary key (org_uuid, id)
  );
  create index meter_events_time on meter_events (meter_id, happened_at);
  create index meter_events_received on meter_events using brin (received_at);
  create table meter_hours (
    meter_id uuid not null references meters (id),
    start timestamptz not null,
    sum numeric not null,
    count bigint not null,
    max numeric not null,
    primary key (meter_id, start)
  );
  create table meter_days (like meter_hours including all);
`;

/** Prices, quotes and meters (decisions 10.3, 10.4 and 10.9). */
export const billingTables = defineMigration("0049-billing", [
  tables,
  grantApp("prices", "quotes", "meters", "meter_events", "meter_hours", "meter_days"),
]);
