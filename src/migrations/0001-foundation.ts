import { appRole } from "../platform/db/connection.ts";
import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

/** What the platform itself stores: messages to send, answers to repeat, tokens to spend. */
export const foundation = defineMigration("0001-foundation", [
  "revoke create on schema public from public",
  `grant usage on schema public to ${appRole}`,

  // available_at is also the lease: a claimed row is invisible until then, and comes back when its dispatcher died.
  `create table outbox (
    id bigint generated always as identity primary key,
    topic text not null,
    payload jsonb not null,
    created_at timestamptz(3) not null,
    available_at timestamptz(3) not null,
    expires_at timestamptz(3),
    attempts integer not null default 0,
    last_error text
  )`,
  "create index outbox_due on outbox (available_at, id)",
  "create index outbox_expiry on outbox (expires_at) where expires_at is not null",

  `create table idempotency_records (
    id bytea primary key,
    fingerprint bytea not null,
    token uuid not null,
    state text not null check (state in ('running', 'committed', 'done')),
    lease_until timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    answer bytea
  )`,
  "create index idempotency_records_expiry on idempotency_records (expires_at)",

  // Losing these in a crash of the database costs a few seconds of strictness, so they need no write-ahead log.
  // Times are milliseconds since the epoch, counted by the service's clock.
  `create unlogged table rate_buckets (
    id bytea primary key,
    tokens double precision not null,
    granted integer not null,
    at_ms bigint not null,
    full_ms bigint not null
  )`,
  "create index rate_buckets_full on rate_buckets (full_ms)",
  `create unlogged table rate_windows (
    id bytea primary key,
    hits bigint[] not null,
    empty_ms bigint not null
  )`,
  "create index rate_windows_empty on rate_windows (empty_ms)",

  grantApp("outbox", "idempotency_records", "rate_buckets", "rate_windows"),
]);
