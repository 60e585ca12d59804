/**
 * The least a write of a secret can cost a database: transactions over node-postgres that take the next version of a
 * name and insert the sealed version, its event, and the event's place in the chain. Asked `{seconds}`, keeps
 * CONNECTIONS of them going and reports how many were committed.
 */
import { createCipheriv, randomBytes, randomUUID } from "node:crypto";
import type { PoolClient } from "pg";
import { pool, serveTransactions } from "./transactions.ts";

const value = process.env["VALUE"] ?? "";
const names = 16;
const key = randomBytes(32);
await pool.query(`
  drop table if exists bare_versions, bare_names, bare_log, bare_pending;
  create table bare_names (
    id bigint generated always as identity primary key, org uuid not null, name text not null,
    version integer not null, written_at timestamptz not null, unique (org, name));
  create table bare_versions (
    name_id bigint not null references bare_names (id), version integer not null, key_id uuid not null,
    wrapped_key bytea not null, value bytea not null, created_at timestamptz not null,
    primary key (name_id, version));
  create table bare_log (
    sequence bigint generated always as identity primary key, event_id uuid not null unique, org uuid not null,
    type text not null, metadata jsonb not null, actor jsonb not null, created_at timestamptz not null);
  create index on bare_log (org, created_at desc);
  create table bare_pending (org uuid not null, sequence bigint not null, primary key (org, sequence))`);
const organizations = Array.from({ length: names }, () => randomUUID());
let next = 0;

function seal(plain: Buffer | string, by: Buffer, context: string): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", by, nonce);
  cipher.setAAD(Buffer.from(context));
  const text = typeof plain === "string" ? cipher.update(plain, "utf8") : cipher.update(plain);
  return Buffer.concat([nonce, text, cipher.final(), cipher.getAuthTag()]);
}

async function write(client: PoolClient): Promise<void> {
  const org = organizations[next++ % names] as string;
  const now = new Date();
  const taken = await client.query<{ id: string; version: number }>({
    name: "take",
    text: `insert into bare_names (org, name, version, written_at) values ($1, $2, 1, $3)
        on conflict (org, name) do update set version = bare_names.version + 1, written_at = $3
        returning id, version`,
    values: [org, "written", now],
  });
  const { id, version } = taken.rows[0] as { id: string; version: number };
  const own = randomBytes(32);
  const context = `${org}:${version}:written`;
  await client.query({
    name: "version",
    text: "insert into bare_versions values ($1, $2, $3, $4, $5, $6)",
    values: [id, version, randomUUID(), seal(own, key, context), seal(value, own, context), now],
  });
  await client.query({
    name: "event",
    text: `with added as (
          insert into bare_log (event_id, org, type, metadata, actor, created_at) values ($1, $2, $3, $4, $5, $6)
          returning org, sequence
        ) insert into bare_pending select org, sequence from added`,
    values: [
      randomUUID(),
      org,
      "vault.secret.written",
      JSON.stringify({ name: "written", version }),
      JSON.stringify({ type: "user", id: org, email: "owner@bench.test" }),
      now,
    ],
  });
}

serveTransactions(write);
