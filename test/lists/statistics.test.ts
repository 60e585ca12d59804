import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { publish } from "../marketplace/stage.ts";

const [HOUR, DAY] = [3_600_000, 86_400_000];
/** 10:30 of a day, so that the last bucket is not whole. */
const NOW = Math.floor(Date.now() / DAY) * DAY + 10.5 * HOUR;

let app: TestApp;
let owner: Somebody;
let webhook: string;
let shop: { appId: string; slug: string };
beforeAll(async () => {
  app = await startApp();
  app.clock.set(NOW);
  owner = await founder(app);
  const body = { url: "http://127.0.0.1:9/", events: ["*"] };
  webhook = (await app.call("POST", "/api/v2/webhooks", { token: owner.token, body })).body.webhook_id;
  shop = await publish(app, owner.token, {}, await app.login());
});
afterAll(() => app.close());

const iso = (ms: number): string => new Date(ms).toISOString();
const time = (text: string): number => new Date(text).getTime();
const get = (path: string, token = owner.token) => app.call("GET", path, { token });
const audit = (query = "", token?: string) => get(`/api/organizations/${owner.org}/audit-events/stats${query}`, token);
const paths = (): string[] => [
  `/api/organizations/${owner.org}/audit-events/stats`,
  `/api/v2/webhooks/${webhook}/stats`,
  `/api/marketplace/apps/${shop.appId}/stats`,
];

describe("ranges of statistics", () => {
  it("by default statistics cover the last 7 days by day, with empty buckets", async () => {
    for (const path of paths()) {
      const { status, body } = await get(path);
      expect(status).toBe(200);
      expect([body.bucket, time(body.from), time(body.to)]).toEqual(["day", NOW - 10.5 * HOUR - 7 * DAY, NOW]);
      expect(body.data.map(({ start }: { start: string }) => time(start))).toEqual(
        Array.from({ length: 8 }, (_, at) => time(body.from) + at * DAY),
      );
    }
  });

  it("the start of statistics is rounded down to its bucket in UTC", async () => {
    for (const path of paths()) {
      const from = encodeURIComponent(`${iso(NOW - 5 * HOUR).slice(0, 19)}+00:00`);
      const { body } = await get(`${path}?from=${from}&bucket=hour`);
      expect(time(body.from)).toBe(NOW - 5.5 * HOUR);
      expect(body.data).toHaveLength(6);
    }
  });

  it("statistics of over 744 buckets, of an inverted range or of no times are 400", async () => {
    const [auditPath] = paths();
    for (const path of paths()) {
      app.clock.advance(61_000);
      const range = path === auditPath ? "400 invalid_date_range" : "400 validation_error";
      const to = iso(NOW);
      expect((await get(`${path}?bucket=hour&to=${iso(NOW - HOUR / 2)}&from=${iso(NOW - 31 * DAY)}`)).status).toBe(200);
      expect(outcome(await get(`${path}?bucket=hour&to=${to}&from=${iso(NOW - 31 * DAY - HOUR)}`))).toBe(
        "400 validation_error",
      );
      expect(outcome(await get(`${path}?from=${to}&to=${iso(NOW - DAY)}`))).toBe(range);
      expect(outcome(await get(`${path}?from=2999-01-01`))).toBe(range);
      expect(outcome(await get(`${path}?from=yesterday`))).toBe(range);
      expect(outcome(await get(`${path}?to=2026-02-30`))).toBe(range);
      expect(outcome(await get(`${path}?to=2016-12-31T23:59:60Z`))).toBe(range);
      expect(outcome(await get(`${path}?bucket=week`))).toBe("400 validation_error");
    }
    app.clock.set(NOW);
  });

  it.each([
    "from=0000-01-01&to=0000-01-03",
    "to=0001-01-03",
    "from=0001-01-01T00:00:00%2B14:00&to=0001-01-02",
    "from=9999-12-31&to=9999-12-31T23:59:59-14:00",
    "to=9999-12-31T23:59:59-14:00&bucket=hour",
  ])("statistics of %s, which reach beyond the years 1 to 9999, are 400", async (query) => {
    for (const path of paths()) expect(outcome(await get(`${path}?${query}`)), path).toBe("400 validation_error");
    for (const path of paths()) expect((await get(`${path}?from=0001-01-01&to=0001-01-03`)).status, path).toBe(200);
  });
});

describe("statistics of the audit log", () => {
  it("statistics count entries by outcome, hour and type, and none from the end of the range on", async () => {
    const { token } = owner;
    await runSql(
      app.databaseUrl,
      `with made as (
       insert into audit_events
         (event_id, type, is_auth, outcome, org_uuid, ip_address, user_agent, metadata, created_at)
       select gen_random_uuid(), case when n % 2 = 0 then 'login.password' else 'session.revoked' end, true,
         case when n % 4 = 0 then 'failure' else 'success' end, $1, '', '', '{}',
         $2::timestamptz + n * interval '10 minutes'
       from generate_series(0, 35) n returning org_uuid, sequence)
       insert into audit_pending (org_key, event_sequence) select * from made`,
      [owner.org, iso(NOW - 3 * DAY)],
    );
    const range = `from=${iso(NOW - 3 * DAY)}&to=${iso(NOW - 3 * DAY + 5 * HOUR)}`;
    const { body } = await audit(`?${range}&bucket=hour`, token);
    expect(body.data.map(({ success, failure }: Record<string, number>) => [success, failure])).toEqual([
      [2, 1],
      [4, 2],
      [5, 1],
      [4, 2],
      [5, 1],
      [2, 1],
    ]);
    const { body: one } = await audit(`?${range}&type=login.password`, token);
    expect(one.data).toMatchObject([{ success: 7, failure: 8 }]);
    expect(outcome(await audit("?type=nothing"))).toBe("400 invalid_type");
  });

  it("statistics of the audit log count as audit queries", async () => {
    app.clock.set(NOW + 250_000);
    const all = await Promise.all(Array.from({ length: 62 }, () => audit()));
    expect(all.map(outcome).toSorted().at(-1)).toBe("429 rate_limited");
  });

  it("statistics of another organization do not exist", async () => {
    app.clock.advance(61_000);
    const other = await founder(app);
    for (const path of paths()) expect((await get(path, other.token)).status).toBe(404);
  });
});

describe("statistics of a webhook", () => {
  it("statistics count delivered and failed deliveries and the percentiles of their attempts", async () => {
    app.clock.set(NOW);
    const { token } = await founder(app);
    const body = { url: "http://127.0.0.1:9/", events: ["role.updated"] };
    const { webhook_id: id } = (await app.call("POST", "/api/v2/webhooks", { token, body })).body;
    await runSql(
      app.databaseUrl,
      `with events as (
         insert into webhook_events (event_id, type, body, created_at)
         select 'evt_' || gen_random_uuid(), 'webhook.test', '{}', $2::timestamptz - n * interval '1 hour'
         from generate_series(0, 99) n 
         returning event_id, created_at, extract(hour from $2::timestamptz - created_at)::int n)
       insert into webhook_deliveries
         (delivery_id, event_id, webhook_id, status, queue, attempts, created_at, next_attempt_at)
       select gen_random_uuid(), event_id, $1,
         (array['delivered', 'pending', 'failed'])[1 + n % 3], 'first',
         case when n % 3 = 1 then '[]' else jsonb_build_array(jsonb_build_object('duration_ms', n + 100)) end,
         created_at, case when n % 3 = 1 then $2::timestamptz + interval '1 day' end
       from events`,
      [id, iso(NOW)],
    );
    await runSql(app.databaseUrl, "select tally_webhook($1)", [id]);
    const { body: stats } = await get(`/api/v2/webhooks/${id}/stats?bucket=hour&from=${iso(NOW - 5 * HOUR)}`, token);
    expect(stats.data.map(({ start: _, ...item }: Record<string, unknown>) => item)).toEqual([
      { delivered: 0, failed: 1, p50_ms: 105, p95_ms: 105 },
      { delivered: 0, failed: 0, p50_ms: null, p95_ms: null },
      { delivered: 1, failed: 0, p50_ms: 103, p95_ms: 103 },
      { delivered: 0, failed: 1, p50_ms: 102, p95_ms: 102 },
      { delivered: 0, failed: 0, p50_ms: null, p95_ms: null },
      { delivered: 0, failed: 0, p50_ms: null, p95_ms: null },
    ]);
    const day = (await get(`/api/v2/webhooks/${id}/stats?from=${iso(NOW)}`, token)).body.data;
    expect(day).toMatchObject([{ delivered: 3, failed: 3, p50_ms: 105, p95_ms: 109 }]);
    // Disabling fails what is open, before any row is changed.
    await app.call("PATCH", `/api/v2/webhooks/${id}`, { token, body: { status: "disabled" } });
    const after = (await get(`/api/v2/webhooks/${id}/stats?from=${iso(NOW)}`, token)).body.data;
    expect(after).toMatchObject([{ delivered: 3, failed: 7 }]);
  });
});

describe("statistics of an app", () => {
  it("statistics count what became of the installs of the app in every organization", async () => {
    app.clock.set(NOW);
    const buyer = await founder(app);
    const install = (slug: string) =>
      app.call("POST", `/api/marketplace/${slug}/install`, { token: buyer.token, body: {} });
    const other = await publish(app, owner.token, {}, await app.login());
    const [{ body }] = await Promise.all([install(shop.slug), install(other.slug)]);
    app.clock.advance(DAY);
    await app.call("DELETE", `/api/installs/${body.install_id}`, { token: await app.login() });
    const { body: stats } = await get(`/api/marketplace/apps/${shop.appId}/stats`, await app.login());
    expect(stats.data.slice(-2).map(({ start: _, ...item }: Record<string, unknown>) => item)).toEqual([
      { requested: 1, active: 0, failed: 0, deprovisioned: 0 },
      { requested: 0, active: 0, failed: 0, deprovisioned: 0 },
    ]);
  });
});
