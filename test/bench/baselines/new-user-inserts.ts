/**
 * The least that creating a user by SCIM can cost a database: transactions that insert the person, the membership, the
 * user as SCIM shows them with the indexes that its filters need, the event, and the event's place in the chain.
 */
import { randomUUID } from "node:crypto";
import type { PoolClient } from "pg";
import { pool, serveTransactions } from "./transactions.ts";

await pool.query(`
  drop table if exists bare_users, bare_members, bare_makers, bare_people, bare_user_log, bare_user_pending;
  create table bare_people (
    uuid uuid primary key, email text not null unique, first_name text not null, last_name text not null,
    created_at timestamptz not null);
  create table bare_makers (user_uuid uuid primary key references bare_people (uuid), org_uuid uuid not null);
  create table bare_members (
    org_uuid uuid not null, user_uuid uuid not null references bare_people (uuid), role uuid not null,
    joined_at timestamptz not null, primary key (org_uuid, user_uuid));
  create index on bare_members (user_uuid);
  create table bare_users (
    org_uuid uuid not null, user_uuid uuid not null references bare_people (uuid), user_name text not null,
    external_id text, data jsonb not null, folded jsonb not null, version integer not null,
    created_at timestamptz not null, updated_at timestamptz not null, primary key (org_uuid, user_uuid));
  create unique index on bare_users (org_uuid, user_name);
  create index on bare_users (org_uuid, external_id) where external_id is not null;
  create index on bare_users (org_uuid, created_at, user_uuid);
  create index on bare_users (org_uuid, updated_at, user_uuid);
  create index on bare_users (user_uuid);
  create index on bare_users using gin (folded jsonb_path_ops);
  create table bare_user_log (
    sequence bigint generated always as identity primary key, event_id uuid not null unique, org uuid not null,
    type text not null, metadata jsonb not null, actor jsonb not null, created_at timestamptz not null);
  create index on bare_user_log (org, created_at desc);
  create table bare_user_pending (org uuid not null, sequence bigint not null, primary key (org, sequence))`);
const organizations = Array.from({ length: 16 }, () => randomUUID());
let next = 0;

async function create(client: PoolClient): Promise<void> {
  const number = next++;
  const org = organizations[number % organizations.length] as string;
  const [user, now] = [randomUUID(), new Date()];
  const email = `user${number}.${user}@bench.test`;
  const data = JSON.stringify({
    userName: email,
    name: { givenName: "Given", familyName: "Family" },
    emails: [{ value: email, type: "work", primary: true }],
  });
  await client.query({
    name: "person",
    text: "insert into bare_people values ($1, $2, 'Given', 'Family', $3)",
    values: [user, email, now],
  });
  await client.query({ name: "maker", text: "insert into bare_makers values ($1, $2)", values: [user, org] });
  await client.query({
    name: "user",
    text: "insert into bare_users values ($1, $2, $3, $4, $5, $5, 1, $6, $6)",
    values: [org, user, email, `external-${number}`, data, now],
  });
  await client.query({
    name: "member",
    text: "insert into bare_members values ($1, $2, $2, $3)",
    values: [org, user, now],
  });
  await client.query({
    name: "event",
    text: `with added as (
        insert into bare_user_log (event_id, org, type, metadata, actor, created_at) values ($1, $2, $3, $4, $5, $6)
        returning org, sequence
      ) insert into bare_user_pending select org, sequence from added`,
    values: [
      randomUUID(),
      org,
      "scim.user.created",
      JSON.stringify({ user_name: email, active: true, invited: false }),
      JSON.stringify({ type: "scim_token", id: org }),
      now,
    ],
  });
}

serveTransactions(create);
