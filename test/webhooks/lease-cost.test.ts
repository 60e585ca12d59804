import { randomUUID } from "node:crypto";
import pg from "pg";
import { beforeEach, expect, it } from "vitest";
import { takeFirst } from "../../src/domains/webhooks/places-store.ts";
import type { Database } from "../../src/platform/db/types.ts";
import { testDatabase } from "../support/database.ts";

const BATCH = 32;
/** One connection, so that the plan of its prepared statement is kept. */
let client: pg.Client;
beforeEach(async () => {
  const database = await testDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  return async () => {
    await client.end();
    await database.close();
  };
});

const prepared: Database["prepared"] = async <R extends object>(
  name: string,
  text: string,
  values: readonly unknown[],
) => (await client.query({ name, text, values: [...values] })).rows as R[];

/** Leases one batch of an endpoint that responds quickly, in a process that has leased so many before. */
async function lease(webhookId: string, leased: number): Promise<number> {
  const { taken } = await takeFirst(
    { prepared },
    null,
    30_000,
    null,
    {
      endpoints: new Map([[webhookId, { free: BATCH, isQuick: true }]]),
      organizations: new Map(),
      hosts: new Map(),
      free: { quick: 1_000, other: 744, active: 256 },
      maxPerHost: 558,
    },
    leased,
  );
  return taken.length;
}

/** An endpoint with first attempts that are due. */
async function endpointWithDue(count: number): Promise<string> {
  const webhookId = randomUUID();
  await client.query(
    `insert into webhooks (webhook_id, org_uuid, scope, url, events, status, secret, created_at, updated_at)
     values ($1, gen_random_uuid(), 'org', 'https://hooks.example/', '{*}', 'enabled', '', now(), now())`,
    [webhookId],
  );
  await client.query(
    `with events as (
       insert into webhook_events (event_id, type, body, created_at)
       select 'evt_' || replace(gen_random_uuid()::text, '-', ''), 'user.created', '{}', now()
       from generate_series(1, $2::int) returning event_id)
     insert into webhook_deliveries
       (delivery_id, event_id, webhook_id, status, queue, next_attempt_at, created_at, traceparent)
     select gen_random_uuid(), event_id, $1, 'pending', 'first', now(), now(),
       '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' from events`,
    [webhookId, count],
  );
  return webhookId;
}

interface Work {
  read: number;
  updated: number;
  inPlace: number;
}

/**
 * Rows of deliveries that the present transaction has read and updated, and updates without entries in the indexes.
 * Counters of the open transaction: they need no flush.
 */
async function workDone(): Promise<Work> {
  const { rows } = await client.query<Work>(
    `select (seq_tup_read + idx_tup_fetch)::int as read, n_tup_upd::int as updated, n_tup_hot_upd::int as "inPlace"
     from pg_stat_xact_user_tables where relname = 'webhook_deliveries'`,
  );
  return rows[0] as Work;
}

const BACKLOG = 3_000;

it.each(["there was none", "the table was known to be empty"])(
  "a lease reads what it takes and not the whole backlog, although the first plan was made while %s",
  async (moment) => {
    if (moment === "the table was known to be empty") await client.query("vacuum analyze webhook_deliveries");
    const webhookId = randomUUID();
    // PostgreSQL may keep a generic plan from the sixth execution on.
    for (let nth = 0; nth < 10; nth++) expect(await lease(webhookId, 0)).toBe(0);
    const backlog = await endpointWithDue(BACKLOG);
    await client.query("begin");
    expect(await lease(backlog, 0)).toBe(BATCH);
    const first = await workDone();
    // Each of its parts reads the table once at most, and not once for each delivery.
    expect(first.read).toBeLessThan(6 * BACKLOG);
    expect(await lease(backlog, BATCH)).toBe(BATCH);
    const second = await workDone();
    await client.query("rollback");
    expect(second.read - first.read).toBeLessThan(10 * BATCH);
  },
);

it("leases of new deliveries need no entries in the indexes", async () => {
  const webhookId = await endpointWithDue(4 * BATCH);
  await client.query("begin");
  for (let nth = 0; nth < 4; nth++) expect(await lease(webhookId, nth * BATCH)).toBe(BATCH);
  const { updated, inPlace } = await workDone();
  await client.query("rollback");
  expect({ updated, inPlace }).toEqual({ updated: 4 * BATCH, inPlace: 4 * BATCH });
});
