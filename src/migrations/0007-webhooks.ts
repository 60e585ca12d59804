import { defineMigration } from "../platform/db/migrator.ts";

const webhooks = `
  create table webhooks (
    webhook_id uuid primary key,
    org_uuid uuid not null,
    scope text not null check (scope in ('org', 'app')),
    app_id uuid,
    url text not null,
    events text[] not null,
    status text not null check (status in ('enabled', 'disabled')),
    secret bytea not null,
    old_secret bytea,
    old_secret_expires_at timestamptz(3),
    -- Since when no attempt has succeeded; null while the endpoint answers.
    failing_since timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null
  );
  create index webhooks_org on webhooks (org_uuid, created_at desc, webhook_id);
  create index webhooks_app on webhooks (app_id) where scope = 'app';

  create table webhook_events (
    event_id text primary key,
    type text not null,
    body text not null,
    created_at timestamptz(3) not null
  );
  create index webhook_events_age on webhook_events (created_at);

  create table webhook_deliveries (
    delivery_id uuid primary key,
    event_id text not null references webhook_events (event_id) on delete cascade,
    webhook_id uuid not null references webhooks (webhook_id) on delete cascade,
    status text not null check (status in ('pending', 'delivered', 'failed')),
    -- Who makes the next attempt: the dispatcher the first, the endpoint's workflow every other.
    queue text not null check (queue in ('first', 'retry')),
    attempts jsonb not null default '[]',
    -- Attempts since the schedule began; redelivery begins it anew.
    tries integer not null default 0,
    -- Also the lease: pushed forward when somebody takes the delivery.
    next_attempt_at timestamptz(3),
    created_at timestamptz(3) not null,
    unique (event_id, webhook_id)
  );
  create index webhook_deliveries_due on webhook_deliveries (queue, webhook_id, next_attempt_at)
    where status = 'pending';
  create index webhook_deliveries_newest on webhook_deliveries (webhook_id, created_at desc, delivery_id);
`;

const grants = `
  grant select, insert, update, delete on webhooks, webhook_events, webhook_deliveries to atrium_app;
`;

/** Outgoing webhooks, the events they hear, and every delivery. */
export const webhookDeliveries = defineMigration("0007-webhooks", [webhooks, grants]);
