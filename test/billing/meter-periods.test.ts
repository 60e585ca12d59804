import { afterAll, beforeAll, expect, test } from "vitest";
import { createPeriodTurner } from "../../src/domains/billing/meters/periods.ts";
import { migrations } from "../../src/migrations/index.ts";
import { migrate, openDatabase } from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { testDatabase } from "../support/database.ts";
import { founder, password } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

const DAY = 86_400_000;
const METERS = "/api/billing/metering/meters";
const FIRST = { org: "0b1d2a3e-aaaa-4000-8000-000000000001", meter: "0b1d2a3e-aaaa-4000-8000-000000000002" };

// A database of the version before the partitions, with events.
const older = migrations.slice(
  0,
  migrations.findIndex(({ name }) => name === "0057-meter-partitions"),
);
let close: () => Promise<void>;
let app: TestApp;
let second: TestApp;
let database: OpenDatabase;
let turn: () => Promise<number>;
beforeAll(async () => {
  const empty = await testDatabase({ empty: true });
  const { url } = empty;
  await migrate({ url, migrations: older, log: silentLog });
  await runSql(
    url,
    `insert into meter_events (org_uuid, id, meter_id, value, happened_at, received_at)
     select $1, 'old-' || n, $2, n, now(), now() from generate_series(1, 500) n`,
    [FIRST.org, FIRST.meter],
  );
  await migrate({ url, migrations, log: silentLog });
  app = await startApp({ databaseUrl: url, env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: url, clock: app.clock });
  database = await openDatabase({ url, entities: [], migrations, clock: app.clock, log: silentLog });
  turn = createPeriodTurner({ database: database.background, clock: app.clock });
  close = empty.close;
});
afterAll(async () => {
  await database.close();
  await second.close();
  await app.close();
  await close();
});

/** Signs somebody up who has a meter; returns how they record events and read their sum. */
async function reporter() {
  const { email, org, orgName, ...session } = await founder(app);
  let { token } = session;
  const body = { name: "Calls", unit: "call", event_name: "call" };
  const { id } = (await app.call("POST", METERS, { token, body })).body as { id: string };
  const record = async (ids: readonly string[], on = app) => {
    const events = ids.map((event) => ({ id: event, event_name: "call" }));
    const answer = await on.call("POST", "/api/billing/metering/events", { token, body: { events } });
    return answer.status === 202 ? (answer.body as { accepted: number }).accepted : answer.text;
  };
  const sum = async () => {
    app.clock.advance(1_000);
    return (await app.call("GET", `${METERS}/${id}/usage?from=2000-01-01`, { token })).body.value as number;
  };
  /** Sessions last a month at most. */
  const signIn = async () => void (token = await app.login(email, password, orgName));
  return { org, record, sum, signIn };
}

const partitions = async () =>
  (
    await runSql<{ name: string }>(
      app.databaseUrl,
      `select inhrelid::regclass::text as name from pg_inherits
       where inhparent = 'metered_events'::regclass order by 1`,
    )
  ).map(({ name }) => name);

test("events from before the partitions are kept, and instances of that version go on recording", async () => {
  const { org, record } = await reporter();
  const count = "select count(*)::int as n, count(distinct period)::int as periods from metered_events";
  expect(await runSql(app.databaseUrl, count)).toEqual([{ n: 500, periods: 1 }]);
  const before = `insert into meter_events (org_uuid, id, meter_id, value, happened_at, received_at)
    values ($1, 'both', $2, 1, now(), now()) on conflict (org_uuid, id) do nothing returning 1`;
  expect(await runSql(app.databaseUrl, before, [org, FIRST.meter])).toHaveLength(1);
  expect(await record(["both", "new"])).toBe(1);
  expect(await runSql(app.databaseUrl, before.replace("both", "new"), [org, FIRST.meter])).toEqual([]);
});

test("an id counts once across periods, and parallel batches count once while a period begins", async () => {
  const early = await reporter();
  expect(await early.record(["a", "b"])).toBe(2);
  expect(await turn()).toBe(0);
  app.clock.advance(200 * DAY);
  const { record, sum } = await reporter();
  const batch = (seed: number) => Array.from({ length: 50 }, (_, nth) => `r${(nth * 7 + seed) % 300}`);
  const answers = await Promise.all([
    ...Array.from({ length: 30 }, (_, nth) => record(batch(nth * 31), nth % 2 === 0 ? app : second)),
    turn(),
    turn(),
    ...Array.from({ length: 30 }, (_, nth) => record(batch(nth * 17), nth % 2 === 0 ? second : app)),
  ]);
  // A period that found no moment to begin in does so later.
  while ((await partitions()).length === 1) await turn();
  const accepted = [...answers.slice(0, 30), ...answers.slice(32)].reduce<number>((all, n) => all + Number(n), 0);
  expect(accepted).toBe(300);
  expect(await sum()).toBe(300);
  expect(await partitions()).toEqual(["meter_events", "metered_events_2"]);
  expect(await turn()).toBe(0);
  const [counted] = await runSql(
    app.databaseUrl,
    "select count(*)::int as n, count(distinct (org_uuid, id))::int as ids from metered_events",
  );
  expect(counted).toEqual({ n: 804, ids: 804 });
});

test("events are dropped 400 days after their period ends, and not before; their totals stay", async () => {
  const { record, sum, signIn } = await reporter();
  expect(await record(["x", "y"])).toBe(2);
  app.clock.advance(200 * DAY);
  expect(await turn()).toBe(1);
  await signIn();
  expect(await record(["x", "z"])).toBe(1);
  app.clock.advance(200 * DAY - 60_000);
  expect(await turn()).toBe(0);
  expect(await partitions()).toEqual(["meter_events", "metered_events_2", "metered_events_3"]);
  app.clock.advance(60_000);
  // A new period, then the first one of all goes.
  expect([await turn(), await turn(), await turn()]).toEqual([1, 1, 0]);
  expect(await partitions()).toEqual(["metered_events_2", "metered_events_3", "metered_events_4"]);
  await signIn();
  expect(await record(["x", "y", "z"])).toBe(0);
  app.clock.advance(200 * DAY);
  expect([await turn(), await turn(), await turn()]).toEqual([1, 1, 0]);
  await signIn();
  expect(await record(["x", "y", "z"])).toBe(2);
  expect(await sum()).toBe(5);
});
