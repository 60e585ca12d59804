import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";
import type { Receiver } from "./receiver.ts";

const BACKLOG = 7_000;
let serves: TestApp;
let works: TestApp;
let owner: Somebody;
const receivers: Receiver[] = [];
beforeAll(async () => {
  const env = { SERVICE_OPEN_SIGNUP: "1", SERVICE_WEBHOOK_SCHEDULE: "0s,1h,1h" };
  serves = await startApp({ clock: systemClock, env });
  works = await startApp({
    role: "worker",
    temporal: await temporalServer(),
    clock: systemClock,
    env,
    databaseUrl: serves.databaseUrl,
  });
  owner = await founder(serves);
});
afterAll(async () => {
  await works.close();
  await serves.close();
  await Promise.all(receivers.map((receiver) => receiver.close()));
});

/** An endpoint with a backlog whose retries are an hour away. */
async function backlogged(answer: () => number = () => 200) {
  const receiver = await startReceiver(answer);
  receivers.push(receiver);
  const { body } = await serves.call("POST", "/api/v2/webhooks", {
    token: owner.token,
    body: { url: receiver.url, events: ["user.created"] },
  });
  const id = body.webhook_id as string;
  await runSql(
    serves.databaseUrl,
    `with events as (
       insert into webhook_events (event_id, type, body, created_at)
       select 'evt_' || gen_random_uuid(), 'user.created', '{"type":"user.created"}', now() from generate_series(1, $2::int) returning event_id
     )
     insert into webhook_deliveries (delivery_id, event_id, webhook_id, status, queue, next_attempt_at, created_at, tries, attempts)
     select gen_random_uuid(), event_id, $1, 'pending', 'retry', now() + interval '1 hour', now(), 1, '[{"at":"2026-01-01T00:00:00.000Z","status_code":500,"error":null,"duration_ms":1,"response":null}]'
     from events`,
    [id, BACKLOG],
  );
  const path = `/api/v2/webhooks/${id}`;
  const rows = (sql: string) =>
    runSql<{ n: number }>(
      serves.databaseUrl,
      `select count(*)::int as n from webhook_deliveries where webhook_id = $1 and ${sql}`,
      [id],
    ).then(([row]) => row?.n);
  return {
    id,
    path,
    receiver,
    rows,
    total: async (status: string) =>
      (await serves.call("GET", `${path}/deliveries?status=${status}&limit=1`, { token: owner.token })).body
        .total as number,
    patch: (status: string) => serves.call("PATCH", path, { token: owner.token, body: { status } }),
    call: (method: string, more = "") =>
      serves.call(method, path + more, {
        token: owner.token,
        ...(method === "PATCH" ? { body: { status: "disabled" } } : {}),
      }),
  };
}

it("disabling a webhook fails its backlog at once and updates its rows later, without waiting for locks", async () => {
  const hook = await backlogged();
  const held = await holding(serves.databaseUrl);
  await held.run("select 1 from webhook_deliveries where webhook_id = $1 for update", [hook.id]);
  expect((await hook.patch("disabled")).status).toBe(200);
  expect([await hook.total("pending"), await hook.total("failed")]).toEqual([0, BACKLOG]);
  const [newest] = (await hook.call("GET", "/deliveries?limit=1")).body.data as {
    delivery_id: string;
    status: string;
    next_attempt_at: null;
  }[];
  expect(newest).toMatchObject({ status: "failed", next_attempt_at: null });
  // On again before its rows were touched: what was open stays failed, and only what is sent by hand goes out.
  expect((await hook.patch("enabled")).status).toBe(200);
  expect([await hook.total("pending"), await hook.total("failed")]).toEqual([0, BACKLOG]);
  await held.commit();
  expect((await hook.call("POST", `/deliveries/${newest?.delivery_id}/redeliver`)).status).toBe(202);
  await hook.receiver.waitFor(1);
  await expect.poll(() => hook.rows("status = 'failed'")).toBe(BACKLOG - 1);
  await expect.poll(async () => [await hook.total("delivered"), await hook.total("failed")]).toEqual([1, BACKLOG - 1]);
  expect(hook.receiver.got).toHaveLength(1);
  await expect.poll(() => runSql(serves.databaseUrl, "select 1 from webhooks where clearing is not null")).toEqual([]);
});

it("a delivery that is sent again while the backlog's rows are being failed goes out all the same", async () => {
  const hook = await backlogged();
  const held = await holding(serves.databaseUrl);
  await held.run("select 1 from webhook_deliveries where webhook_id = $1 for update", [hook.id]);
  expect((await hook.patch("disabled")).status).toBe(200);
  expect((await hook.patch("enabled")).status).toBe(200);
  // What `redeliver` does. The statements that fail the backlog skip locked rows, and choose some when they are
  // released; every hundredth row, since one statement chooses a part of them.
  await held.run(
    `update webhook_deliveries d set status = 'pending', queue = 'first', generation = w.generation,
       next_attempt_at = clock_timestamp(), leased_until = null
     from webhooks w where w.webhook_id = d.webhook_id and d.delivery_id in (
       select delivery_id from (
         select delivery_id, row_number() over (order by delivery_id) as nth
         from webhook_deliveries where webhook_id = $1) numbered
       where nth % 100 = 0)`,
    [hook.id],
  );
  await held.commit();
  const again = Math.floor(BACKLOG / 100);
  await hook.receiver.waitFor(again);
  await expect.poll(() => hook.rows("status = 'failed'")).toBe(BACKLOG - again);
  await expect.poll(() => hook.total("delivered")).toBe(again);
});

it("deleting a webhook hides it at once and deletes its deliveries later, without waiting for locks", async () => {
  const hook = await backlogged();
  const held = await holding(serves.databaseUrl);
  await held.run("select 1 from webhook_deliveries where webhook_id = $1 for update", [hook.id]);
  expect((await hook.call("DELETE")).status).toBe(204);
  for (const [method, more] of [
    ["GET", ""],
    ["GET", "/deliveries"],
    ["POST", "/test"],
    ["DELETE", ""],
    ["PATCH", ""],
  ] as const) {
    expect(outcome(await hook.call(method, more)), method + more).toBe("404 not_found");
  }
  const listed = (await serves.call("GET", "/api/v2/webhooks", { token: owner.token })).body.data as {
    webhook_id: string;
  }[];
  expect(listed.map(({ webhook_id: id }) => id)).not.toContain(hook.id);
  await held.commit();
  await expect
    .poll(() => runSql(serves.databaseUrl, "select 1 from webhooks where webhook_id = $1", [hook.id]))
    .toEqual([]);
  expect(await hook.rows("true")).toBe(0);
});

it("a 410 disables a webhook without waiting for the rest of its backlog", async () => {
  const hook = await backlogged(() => 410);
  const held = await holding(serves.databaseUrl);
  await held.run("select 1 from webhook_deliveries where webhook_id = $1 for update", [hook.id]);
  await hook.call("POST", "/test");
  await expect.poll(async () => (await hook.call("GET")).body.status as string).toBe("disabled");
  expect([await hook.total("pending"), await hook.total("failed")]).toEqual([0, BACKLOG + 1]);
  await held.commit();
});

it("the whole backlog of an endpoint that responds again is delivered", async () => {
  const hook = await backlogged();
  await runSql(serves.databaseUrl, "update webhooks set failing_since = now() where webhook_id = $1", [hook.id]);
  await hook.call("POST", "/test");
  await expect.poll(() => hook.rows("next_attempt_at > now() + interval '30 minutes'")).toBe(0);
  await hook.receiver.waitFor(50);
  expect((await hook.call("DELETE")).status).toBe(204);
});

it("a delivery keeps its newest 50 attempts", async () => {
  const hook = await backlogged();
  const [{ delivery_id: id } = { delivery_id: "" }] = await runSql<{ delivery_id: string }>(
    serves.databaseUrl,
    `update webhook_deliveries set status = 'failed', next_attempt_at = null, attempts = (
       select jsonb_agg(jsonb_build_object('at', '2026-01-01T00:00:00.000Z', 'status_code', n, 'error', null, 'duration_ms', 1, 'response', null) order by n)
       from generate_series(1, 60) n
     ) where delivery_id = (select delivery_id from webhook_deliveries where webhook_id = $1 limit 1) returning delivery_id`,
    [hook.id],
  );
  expect((await hook.call("POST", `/deliveries/${id}/redeliver`)).status).toBe(202);
  await hook.receiver.waitFor(1);
  await expect.poll(() => hook.total("delivered")).toBe(1);
  const { data } = (await hook.call("GET", "/deliveries?status=delivered")).body as {
    data: { attempts: { status_code: number }[] }[];
  };
  expect(data[0]?.attempts.map(({ status_code: code }) => code)).toEqual([
    ...Array.from({ length: 49 }, (_, at) => at + 12),
    200,
  ]);
});
