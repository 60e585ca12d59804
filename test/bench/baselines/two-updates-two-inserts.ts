/**
 * The least a rotation of refresh tokens can cost a database: transactions of two updates and two inserts over
 * node-postgres. Asked `{seconds}`, keeps CONNECTIONS of them going and reports how many were committed.
 */
import { randomBytes, randomUUID } from "node:crypto";
import type { PoolClient } from "pg";
import { pool, serveTransactions } from "./transactions.ts";

const rows = 4_000;
await pool.query(`
  drop table if exists bare_tokens, bare_events, bare_sessions;
  create table bare_sessions (
    uuid uuid primary key, last_seen_at timestamptz not null, expires_at timestamptz not null);
  create table bare_tokens (
    hash bytea primary key, session_uuid uuid not null references bare_sessions (uuid),
    created_at timestamptz not null, used_at timestamptz);
  create index on bare_tokens (session_uuid);
  create table bare_events (
    sequence bigint generated always as identity primary key, session_uuid uuid not null, type text not null,
    created_at timestamptz not null)`);
await pool.query("insert into bare_sessions select gen_random_uuid(), now(), now() from generate_series(1, $1)", [
  rows,
]);
await pool.query("insert into bare_tokens select sha256(uuid::text::bytea), uuid, now(), null from bare_sessions");
const families = (
  await pool.query<{ uuid: string; hash: Buffer }>("select session_uuid as uuid, hash from bare_tokens")
).rows;
let next = 0;

async function rotate(client: PoolClient): Promise<void> {
  const family = families[next++ % families.length] as (typeof families)[number];
  const [now, hash] = [new Date(), randomBytes(32)];
  await client.query("update bare_tokens set used_at = $2 where hash = $1 and used_at is null", [family.hash, now]);
  await client.query("update bare_sessions set last_seen_at = $2, expires_at = $3 where uuid = $1", [
    family.uuid,
    now,
    new Date(now.getTime() + 86_400_000),
  ]);
  await client.query("insert into bare_tokens (hash, session_uuid, created_at) values ($1, $2, $3)", [
    hash,
    family.uuid,
    now,
  ]);
  await client.query("insert into bare_events (session_uuid, type, created_at) values ($1, $2, $3)", [
    randomUUID(),
    "token.refreshed",
    now,
  ]);
  family.hash = hash;
}

serveTransactions(rotate);
