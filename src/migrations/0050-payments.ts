import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

// What providers say is kept as it came and read again in the order of its time, so that neither the order nor the
// number of deliveries matters. `provider_links` says to which quote an id of a provider belongs.
const tables = `
  alter table organizations add column admin_plan text references plans (plan);
  update organizations set admin_plan = plan where plan <> 'free';
  create table checkouts (
    quote_id uuid primary key references quotes (quote_id),
    org_uuid uuid not null references organizations (uuid),
    provider text not null,
    session_id text,
    url text,
    claimed_at timestamptz not null,
    expires_at timestamptz not null
  );
  create table provider_links (
    provider text not null,
    external_id text not null,
    quote_id uuid not null references quotes (quote_id),
    primary key (provider, external_id)
  );
  create index provider_links_quote on provider_links (quote_id);
  create table provider_events (
    provider text not null,
    event_id text not null,
    type text not null,
    occurred_at timestamptz not null,
    received_at timestamptz not null,
    ids text[] not null,
    facts jsonb not null,
    body text not null,
    quote_id uuid references quotes (quote_id),
    primary key (provider, event_id)
  );
  create index provider_events_quote on provider_events (quote_id, occurred_at, event_id) where quote_id is not null;
  create index provider_events_unmatched on provider_events using gin (ids) where quote_id is null;
  create index provider_events_received on provider_events (received_at) where quote_id is null;
  create table subscriptions (
    subscription_id uuid primary key,
    org_uuid uuid not null references organizations (uuid),
    quote_id uuid not null unique references quotes (quote_id),
    provider text not null,
    external_id text not null,
    price_id integer references prices (price_id),
    plan text,
    install_id uuid references installs (install_id),
    seats integer not null,
    status text not null check (status in ('active', 'past_due', 'canceled')),
    current_period_start timestamptz,
    current_period_end timestamptz,
    cancel_at_period_end boolean not null,
    created_at timestamptz not null
  );
  create index subscriptions_newest on subscriptions (org_uuid, created_at desc, subscription_id);
  create table payments (
    id integer primary key generated always as identity,
    org_uuid uuid not null references organizations (uuid),
    provider text not null,
    external_id text not null,
    quote_id uuid not null references quotes (quote_id),
    first boolean not null,
    subscription_id uuid references subscriptions (subscription_id),
    install_id uuid references installs (install_id),
    amount integer not null,
    currency text not null,
    status text not null check (status in ('paid', 'failed', 'refunded')),
    refunded_amount integer not null,
    description text,
    invoice_id text,
    invoice_url text,
    period_start timestamptz,
    period_end timestamptz,
    created_at timestamptz not null,
    unique (provider, external_id)
  );
  create index payments_newest on payments (org_uuid, id desc);
  create table provider_customers (
    provider text not null,
    org_uuid uuid not null references organizations (uuid),
    user_uuid uuid not null references people (uuid),
    customer_id text not null,
    primary key (provider, org_uuid, user_uuid)
  );
  create table cards (
    id uuid primary key,
    org_uuid uuid not null references organizations (uuid),
    user_uuid uuid not null references people (uuid),
    provider text not null,
    external_id text not null,
    brand text not null,
    last4 text not null,
    exp_month integer not null,
    exp_year integer not null,
    is_default boolean not null,
    created_at timestamptz not null
  );
  create unique index cards_default on cards (org_uuid, user_uuid) where is_default;
  create unique index cards_external on cards (org_uuid, user_uuid, provider, external_id);
`;

/** Checkouts, events of payment providers, payments, subscriptions and cards (decisions 10.5 to 10.8). */
export const paymentTables = defineMigration("0050-payments", [
  tables,
  grantApp(
    "checkouts",
    "provider_links",
    "provider_events",
    "subscriptions",
    "payments",
    "provider_customers",
    "cards",
  ),
]);
