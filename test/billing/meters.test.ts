import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let second: TestApp;
let owner: Somebody;
let employee: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  owner = await founder(app);
  employee = await member(app, owner);
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const METERS = "/api/billing/metering/meters";
const meter = (body: object, token = owner.token) =>
  app.call("POST", METERS, { token, body: { name: "Calls", unit: "call", ...body } });
const record = (body: object, token = employee.token, on = app) =>
  on.call("POST", "/api/billing/metering/events", { token, body });
const usage = async (id: string, query = "", token = employee.token) =>
  (await app.call("GET", `${METERS}/${id}/usage${query}`, { token })).body;

describe("meters", () => {
  test("an admin makes a meter, and every member sees it", async () => {
    const made = await meter({ event_name: "api.call" });
    expect(made).toMatchObject({
      status: 201,
      body: { name: "Calls", event_name: "api.call", unit: "call", aggregation: "sum", status: "active" },
    });
    const listed = (await app.call("GET", METERS, { token: employee.token })).body;
    expect(listed).toMatchObject({ data: [made.body], total: 1, limit: 50, offset: 0 });
    expect(await meter({ event_name: "api.call" })).toMatchObject({ status: 409, body: { code: "conflict" } });
    expect((await meter({ event_name: "other" }, employee.token)).status).toBe(403);
    const stranger = await founder(app);
    expect((await app.call("GET", METERS, { token: stranger.token })).body.data).toEqual([]);
    const foreign = await app.call("GET", `${METERS}/${made.body.id}/usage`, { token: stranger.token });
    expect(foreign).toMatchObject({ status: 404, body: { code: "not_found" } });
  });

  test("a bad event name, unit or aggregation returns 400", async () => {
    for (const change of [{ event_name: "a b" }, { event_name: "" }, { unit: "" }, { aggregation: "average" }])
      expect(await meter({ event_name: "fine", ...change })).toMatchObject({
        status: 400,
        body: { code: "validation_error" },
      });
  });
});

describe("events", () => {
  test("values are added exactly, and an id counts once", async () => {
    const { id } = (await meter({ event_name: "bytes", unit: "MB" })).body;
    expect(await record({ id: "e1", event_name: "bytes", value: 0.1 })).toMatchObject({
      status: 202,
      body: { accepted: 1, duplicates: 0 },
    });
    const events = [
      { id: "e1", event_name: "bytes", value: 9 },
      { id: "e2", event_name: "bytes", value: 0.2 },
      { id: "e2", event_name: "bytes", value: 7 },
      { id: "e3", event_name: "bytes" },
    ];
    expect((await record({ events })).body).toEqual({ accepted: 2, duplicates: 2 });
    app.clock.advance(1_000);
    expect((await usage(id)).value).toBe(1.3);
  });

  test("parallel duplicates on two instances count once", async () => {
    const { id } = (await meter({ event_name: "raced", aggregation: "count" })).body;
    const batch = (seed: number) => ({
      events: Array.from({ length: 200 }, (_, nth) => ({ id: `r${(nth * 7 + seed) % 400}`, event_name: "raced" })),
    });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, nth) => record(batch(nth * 31), employee.token, nth % 2 === 0 ? app : second)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(20).fill(202));
    const accepted = answers.reduce((total, { body }) => total + (body.accepted as number), 0);
    app.clock.advance(1_000);
    expect((await usage(id)).value).toBe(accepted);
    expect(accepted).toBeLessThanOrEqual(400);
    expect(accepted).toBeGreaterThan(200);
  });

  test("an unknown event name, also one of another organization, returns 404, and nothing is recorded", async () => {
    const { id } = (await meter({ event_name: "known" })).body;
    const events = [
      { id: "k1", event_name: "known" },
      { id: "k2", event_name: "unknown" },
    ];
    expect(await record({ events })).toMatchObject({ status: 404, body: { code: "not_found" } });
    app.clock.advance(1_000);
    expect((await usage(id)).value).toBe(0);
    const stranger = await founder(app);
    const theirs = (await meter({ event_name: "theirs" }, stranger.token)).body.id as string;
    expect((await record({ id: "k3", event_name: "theirs" })).status).toBe(404);
    app.clock.advance(1_000);
    expect((await usage(theirs, "", stranger.token)).value).toBe(0);
  });

  test("bad events return 400 naming the field", async () => {
    await meter({ event_name: "strict" });
    const event = { id: "s1", event_name: "strict" };
    for (const [body, field] of [
      [{}, "events"],
      [{ event_name: "strict" }, "id"],
      [{ id: "s1" }, "event_name"],
      [{ ...event, value: -1 }, "value"],
      [{ ...event, value: 1e308 }, "value"],
      [{ ...event, value: "NaN" }, "value"],
      [{ ...event, timestamp: "1969-12-31T23:59:59Z" }, "timestamp"],
      [{ ...event, timestamp: "9999-12-31T23:59:59Z" }, "timestamp"],
      [{ events: [event, { ...event, id: "" }] }, "events[1].id"],
      [{ events: [{ ...event, timestamp: "1969-01-01T00:00:00Z" }] }, "events[0].timestamp"],
      [{ events: [event], id: "x" }, "events"],
      [{ events: Array.from({ length: 1_001 }, (_, nth) => ({ ...event, id: `t${nth}` })) }, "events"],
    ] as const) {
      const answer = await record(body);
      expect(answer, JSON.stringify(body).slice(0, 200)).toMatchObject({ status: 400 });
      if (answer.body.code === "validation_error") expect(answer.body.errors).toMatchObject([{ field }]);
    }
  });
});

describe("usage", () => {
  test("a period is counted to the millisecond from days, hours and events, each in its own day", async () => {
    const { id } = (await meter({ event_name: "dated" })).body;
    const peak = (await meter({ event_name: "peak", aggregation: "max" })).body.id;
    const times = [
      "2024-02-28T23:59:59.999Z",
      "2024-02-29T00:00:00Z",
      "2024-02-29T10:30:00.500Z",
      "2024-02-29T10:59:59Z",
      "2024-02-29T23:00:00Z",
      "2024-03-01T00:00:00Z",
      "2024-03-01T12:00:00Z",
      "2024-03-02T05:15:00Z",
    ];
    const events = times.flatMap((timestamp, nth) => [
      { id: `d${nth}`, event_name: "dated", value: 10 ** nth, timestamp },
      { id: `p${nth}`, event_name: "peak", value: nth, timestamp },
    ]);
    expect((await record({ events })).body).toEqual({ accepted: 16, duplicates: 0 });
    const bounds = [
      "2024-02-28T00:00:00.000Z",
      "2024-02-29T10:30:00.500Z",
      "2024-02-29T10:45:00.000Z",
      "2024-02-29T11:00:00.000Z",
      "2024-03-01T00:00:00.000Z",
      "2024-03-01T12:00:00.001Z",
      "2024-03-03T00:00:00.000Z",
    ];
    for (const from of bounds)
      for (const to of bounds.filter((time) => time >= from))
        expect((await usage(id, `?from=${from}&to=${to}`)).value, `${from} ${to}`).toBe(
          times.reduce(
            (total, time, nth) =>
              Date.parse(time) >= Date.parse(from) && Date.parse(time) < Date.parse(to) ? total + 10 ** nth : total,
            0,
          ),
        );
    expect((await usage(id, "?from=2024-01-01&to=2025-01-01")).value).toBe(11_111_111);
    const month = await usage(id, "?from=2024-02-29&to=2024-03-02&group=day");
    expect(month).toMatchObject({ meter_id: id, from: "2024-02-29T00:00:00Z", to: "2024-03-02T00:00:00Z" });
    expect(month.data).toEqual([
      { start: "2024-02-29T00:00:00Z", value: 11_110 },
      { start: "2024-03-01T00:00:00Z", value: 1_100_000 },
    ]);
    expect((await usage(id, "?from=2024-02-29&to=2024-03-02")).data).toEqual([]);
    expect((await usage(peak, "?from=2024-02-01&to=2024-03-01")).value).toBe(4);
    expect((await usage(peak, "?from=2023-01-01&to=2023-02-01")).value).toBe(0);
  });

  test("a period that ends before it begins, or a bad one, returns 400", async () => {
    const { id } = (await meter({ event_name: "period" })).body;
    const times = ["yesterday", "2016-12-31T23:59:60Z", "0000-12-31", "0001-01-01T00:00:00%2B00:01"];
    for (const query of ["?from=2024-02-02&to=2024-02-01", "?group=week", ...times.map((time) => `?from=${time}`)])
      expect((await app.call("GET", `${METERS}/${id}/usage${query}`, { token: employee.token })).body).toMatchObject({
        code: "validation_error",
      });
  });
});
