import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { cleanUpBatch, purgeTallies } from "../../src/domains/webhooks/cleanup-store.ts";
import { openTestDatabase } from "../support/database.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { persistently } from "../support/persistently.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";
import type { Receiver } from "./receiver.ts";

const HOUR = 3_600_000;

let app: TestApp;
beforeAll(async () => {
  app = await startApp({
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_WEBHOOK_SCHEDULE: "0s", SERVICE_WEBHOOK_TIMEOUT: "4m" },
  });
});
afterAll(() => app.close());

type Answer = Parameters<typeof startReceiver>[0];
async function register(by: Somebody, answer?: Answer): Promise<{ id: string; receiver: Receiver }> {
  const receiver = await startReceiver(answer);
  onTestFinished(() => receiver.close());
  const body = { url: receiver.url, events: ["webhook.disabled"] };
  const { webhook_id: id } = (await app.call("POST", "/api/v2/webhooks", { token: by.token, body })).body;
  return { id, receiver };
}

const post = async (by: Somebody, path: string): Promise<void> =>
  expect((await persistently(() => app.call("POST", `/api/v2/webhooks/${path}`, { token: by.token }))).status).toBe(
    202,
  );

/** Settled deliveries by webhook, hour and status, counted one by one, and by the tallies. */
const counted = `select webhook_id, date_trunc('hour', created_at, 'UTC') as hour,
    (count(*) filter (where status = 'delivered'))::int as delivered,
    (count(*) filter (where status = 'failed'))::int as failed
  from webhook_deliveries where status <> 'pending' and webhook_id = any($1::uuid[]) group by 1, 2 order by 1, 2`;
const tallied = `select webhook_id, hour, delivered, failed from webhook_tallies
  where webhook_id = any($1::uuid[]) and (delivered, failed) <> (0, 0) order by 1, 2`;

async function settled(ids: readonly string[]): Promise<void> {
  const sql = `select count(*)::int as n from webhook_deliveries
    where webhook_id = any($1::uuid[]) and status = 'pending'`;
  await expect.poll(() => runSql(app.databaseUrl, sql, [ids]), { timeout: 120_000 }).toEqual([{ n: 0 }]);
}

async function totals(by: Somebody, id: string, query = ""): Promise<[number, number]> {
  const { body } = await app.call("GET", `/api/v2/webhooks/${id}/stats${query}`, { token: by.token });
  const data = body.data as { delivered: number; failed: number }[];
  return [data.reduce((sum, one) => sum + one.delivered, 0), data.reduce((sum, one) => sum + one.failed, 0)];
}

test("tallies agree with the deliveries, however many are settled, repeated and failed at once", async () => {
  const by = await founder(app);
  const [good, bad, ends] = [await register(by), await register(by, () => 500), await register(by, () => 500)];
  const ids = [good.id, bad.id, ends.id];
  await Promise.all(ids.flatMap((id) => Array.from({ length: 12 }, () => post(by, `${id}/test`))));
  await settled(ids);
  expect([await totals(by, good.id), await totals(by, bad.id)]).toEqual([
    [12, 0],
    [0, 12],
  ]);
  const path = `/api/v2/webhooks/${bad.id}/deliveries?limit=200`;
  const { data } = (await app.call("GET", path, { token: by.token })).body as { data: { delivery_id: string }[] };
  await Promise.all([
    ...data.map(({ delivery_id: delivery }) => post(by, `${bad.id}/deliveries/${delivery}/redeliver`)),
    ...Array.from({ length: 12 }, () => post(by, `${good.id}/test`)),
    app.call("PATCH", `/api/v2/webhooks/${ends.id}`, { token: by.token, body: { status: "disabled" } }),
  ]);
  await settled(ids);
  expect(await runSql(app.databaseUrl, tallied, [ids])).toEqual(await runSql(app.databaseUrl, counted, [ids]));
  expect(await totals(by, good.id)).toEqual([24, 0]);
  expect(await totals(by, bad.id)).toEqual([0, 12]);
});

test("a delivery that is sent again counts neither as delivered nor as failed until it is settled", async () => {
  const by = await founder(app);
  let isSlow = false;
  const { id, receiver } = await register(by, () => (isSlow ? "hang" : 200));
  await post(by, `${id}/test`);
  await receiver.waitFor(1);
  await settled([id]);
  const [delivery] = (await app.call("GET", `/api/v2/webhooks/${id}/deliveries`, { token: by.token })).body.data;
  isSlow = true;
  expect(await totals(by, id)).toEqual([1, 0]);
  await post(by, `${id}/deliveries/${delivery.delivery_id}/redeliver`);
  expect(await totals(by, id)).toEqual([0, 0]);
});

test("what was settled before there were tallies is counted once, while deliveries go on", async () => {
  const by = await founder(app);
  const { id } = await register(by);
  await Promise.all(Array.from({ length: 10 }, () => post(by, `${id}/test`)));
  await settled([id]);
  await runSql(app.databaseUrl, "delete from webhook_tallies where webhook_id = $1", [id]);
  await Promise.all([
    ...Array.from({ length: 15 }, () => post(by, `${id}/test`)),
    ...Array.from({ length: 10 }, () => runSql(app.databaseUrl, "select tally_webhook($1)", [id])),
  ]);
  await settled([id]);
  expect(await totals(by, id)).toEqual([25, 0]);
});

test("a range that ends within an hour has what was made before its end, by the day and by the hour", async () => {
  const by = await founder(app);
  const { id } = await register(by);
  const hour = Math.floor(Date.now() / HOUR) * HOUR - 5 * HOUR;
  await runSql(
    app.databaseUrl,
    `with events as (
       insert into webhook_events (event_id, type, body, created_at)
       select 'evt_' || gen_random_uuid(), 'webhook.test', '{}', $2::timestamptz + n * interval '10 minutes'
       from generate_series(0, 8) n returning event_id, created_at)
     insert into webhook_deliveries (delivery_id, event_id, webhook_id, status, queue, created_at)
     select gen_random_uuid(), event_id, $1, case when extract(minute from created_at) = 30 then 'failed'
       else 'delivered' end, 'first', created_at from events`,
    [id, new Date(hour)],
  );
  await runSql(app.databaseUrl, "select tally_webhook($1)", [id]);
  const until = (minutes: number) => {
    const [from, to] = [hour, hour + minutes * 60_000].map((at) => new Date(at).toISOString());
    return Promise.all(["hour", "day"].map((bucket) => totals(by, id, `?bucket=${bucket}&from=${from}&to=${to}`)));
  };
  expect(await until(30)).toEqual([
    [3, 0],
    [3, 0],
  ]);
  expect(await until(31)).toEqual([
    [3, 1],
    [3, 1],
  ]);
  expect(await until(60)).toEqual([
    [5, 1],
    [5, 1],
  ]);
  expect(await until(80)).toEqual([
    [7, 1],
    [7, 1],
  ]);
});

test("tallies end after 30 days, and with their webhook", async () => {
  const database = await openTestDatabase();
  onTestFinished(() => database.close());
  const [webhook, now] = ["0f2f6a4e-5d0e-4a7e-9a53-0d7f3f0b4c11", new Date()];
  await database.prepared(
    "seeded",
    `insert into webhook_tallies select $1::uuid, date_trunc('hour', $2::timestamptz, 'UTC') - n * interval '1 hour', 1, 0
     from generate_series(0, 3000) n`,
    [webhook, now],
  );
  const before = new Date(now.getTime() - 720 * HOUR);
  const removed = [await purgeTallies(database, before), await purgeTallies(database, before)];
  expect([...removed, await purgeTallies(database, before)]).toEqual([2_000, 280, 0]);
  await database.prepared(
    "deleted",
    `insert into webhooks (webhook_id, org_uuid, scope, url, events, status, secret, created_at, updated_at, clearing)
     values ($1, gen_random_uuid(), 'org', 'https://example.com/', '{*}', 'disabled', '', now(), now(), 'delete')`,
    [webhook],
  );
  while (await cleanUpBatch(database));
  expect(await database.prepared("left", "select count(*)::int as n from webhook_tallies", [])).toEqual([{ n: 0 }]);
});
