import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bodyOf } from "../../src/domains/event-catalogue/index.ts";
import { nextWait } from "../../src/domains/webhooks/rules.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, outcome } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";
import type { Received, Receiver } from "./receiver.ts";

const [MINUTE, DAY] = [60_000, 86_400_000];
let app: TestApp;
let token: string;
let org: string;
const receivers: Receiver[] = [];
beforeAll(async () => {
  // The clock stands still and the schedule is the one of production.
  app = await startApp({
    role: "all",
    temporal: await temporalServer(),
    env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_TTL_PAIR: "90d", SERVICE_TTL_ACCESS: "90d" },
  });
  ({ token, org } = await founder(app));
});
afterAll(async () => {
  await app.close();
  await Promise.all(receivers.map((receiver) => receiver.close()));
});

interface Row {
  delivery_id: string;
  event_type: string;
  status: string;
  attempts: { response: string | null }[];
  next_attempt_at: string | null;
}
type Reply = { status: number; headers?: Record<string, string> };

async function listener(reply: Reply, events = ["api_key.created"]) {
  const receiver = await startReceiver(
    () => reply.status,
    () => reply.headers ?? {},
  );
  receivers.push(receiver);
  const made = await app.call("POST", "/api/v2/webhooks", { token, body: { url: receiver.url, events } });
  expect(made.status).toBe(201);
  const path = `/api/v2/webhooks/${made.body.webhook_id as string}`;
  const rows = async (): Promise<Row[]> => (await app.call("GET", `${path}/deliveries`, { token })).body.data as Row[];
  return {
    receiver,
    path,
    rows,
    patch: (body: unknown) => app.call("PATCH", path, { token, body }),
    test: async () => (await app.call("POST", `${path}/test`, { token })).body.delivery_id as string,
    attempted: async (deliveryId: string, times = 1): Promise<Row> => {
      await expect
        .poll(async () => (await rows()).find((row) => row.delivery_id === deliveryId)?.attempts.length)
        .toBe(times);
      return (await rows()).find((row) => row.delivery_id === deliveryId) as Row;
    },
  };
}
const due = (row: Row): number => Date.parse(row.next_attempt_at ?? "") - app.clock.now();

it("the waits of the schedule are 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, with jitter of 20 %", () => {
  const schedule = [
    0,
    5_000,
    5 * MINUTE,
    30 * MINUTE,
    120 * MINUTE,
    300 * MINUTE,
    600 * MINUTE,
    840 * MINUTE,
    1_200 * MINUTE,
    DAY,
  ];
  for (let tries = 1; tries < schedule.length; tries++) {
    expect([0, 0.5, 1].map((chance) => nextWait(schedule, tries, 0, chance))).toEqual(
      [0.8, 1, 1.2].map((share) => Math.round((schedule[tries] ?? 0) * share)),
    );
  }
  expect(nextWait(schedule, schedule.length, 0, 0.5)).toBeUndefined();
});

describe("a failed attempt", () => {
  it.each<[string, string | undefined, number, number]>([
    ["without Retry-After", undefined, 4_000, 6_000],
    ["with Retry-After in seconds", "600", 600_000, 600_000],
    ["with Retry-After as a date", "date", 9 * MINUTE, 10 * MINUTE],
    ["with Retry-After sooner than the schedule", "1", 4_000, 6_000],
    ["with Retry-After of three days", String(3 * 86_400), DAY, DAY],
    ["with Retry-After beyond every number", "9".repeat(400), DAY, DAY],
    ["with an invalid Retry-After", "soon", 4_000, 6_000],
  ])(
    "a failed attempt %s is retried when both its schedule and Retry-After allow it",
    async (_what, given, least, most) => {
      const value = given === "date" ? new Date(app.clock.now() + 10 * MINUTE).toUTCString() : given;
      const hook = await listener({
        status: 503,
        ...(value === undefined ? {} : { headers: { "retry-after": value } }),
      });
      const row = await hook.attempted(await hook.test());
      expect(row.status).toBe("pending");
      expect(due(row)).toBeGreaterThanOrEqual(least);
      expect(due(row)).toBeLessThanOrEqual(most);
      expect((await hook.patch({ status: "disabled" })).status).toBe(200);
      expect((await hook.rows()).map(({ status, next_attempt_at: next }) => [status, next])).toEqual([
        ["failed", null],
      ]);
    },
  );

  it("later events wait for the retry of a failed attempt and are all sent to the present URL once the endpoint responds again", async () => {
    const reply: Reply = { status: 503, headers: { "retry-after": "3600" } };
    const hook = await listener(reply);
    const first = await hook.attempted(await hook.test());
    for (const name of ["one", "two"])
      expect(
        (
          await app.call("POST", `/api/admin/organizations/${org}/api-keys`, {
            token,
            body: { name, scopes: ["read:users"], expires_in_days: 1 },
          })
        ).status,
      ).toBe(201);
    await expect.poll(async () => (await hook.rows()).length).toBe(3);
    for (const row of await hook.rows())
      expect([row.status, row.next_attempt_at]).toEqual(["pending", first.next_attempt_at]);
    expect(outcome(await app.call("POST", `${hook.path}/deliveries/${first.delivery_id}/redeliver`, { token }))).toBe(
      "409 conflict",
    );

    const moved = await startReceiver();
    receivers.push(moved);
    expect((await hook.patch({ url: moved.url })).status).toBe(200);
    await hook.test();
    const posts = await moved.waitFor(4);
    expect(posts.map(({ event }) => event.type as string).sort()).toEqual([
      "api_key.created",
      "api_key.created",
      "webhook.test",
      "webhook.test",
    ]);
    await expect.poll(async () => (await hook.rows()).map(({ status }) => status)).toEqual(Array(4).fill("delivered"));
    expect(hook.receiver.got).toHaveLength(1);
  });
});

it("a delivery leased by a killed worker is attempted when its lease expires, and not before", async () => {
  const hook = await listener({ status: 200 });
  const id = await hook.test();
  await hook.attempted(id);
  const [now, leaseEnd] = [app.clock.now(), app.clock.now() + 27_000].map((ms) => new Date(ms));
  await runSql(
    app.databaseUrl,
    "update webhook_deliveries set status = 'pending', attempts = '[]', tries = 0, next_attempt_at = $2, leased_until = $3 where delivery_id = $1",
    [id, now, leaseEnd],
  );
  await hook.attempted(await hook.test());
  app.clock.advance(26_000);
  await hook.attempted(await hook.test());
  expect((await hook.rows()).find((row) => row.delivery_id === id)?.attempts).toEqual([]);
  app.clock.advance(1_000);
  expect((await hook.attempted(id)).status).toBe("delivered");
  expect(hook.receiver.got).toHaveLength(4);
});

it("a delivery can be repeated for 30 days", async () => {
  const hook = await listener({ status: 200 });
  const id = await hook.test();
  await hook.attempted(id);
  app.clock.advance(30 * DAY - MINUTE);
  expect((await app.call("POST", `${hook.path}/deliveries/${id}/redeliver`, { token })).status).toBe(202);
  await hook.attempted(id, 2);
  // The id is the event's, the timestamp the attempt's.
  const [first, second] = hook.receiver.got.map(({ headers }) => headers);
  expect(second?.["webhook-id"]).toBe(first?.["webhook-id"]);
  const seconds = Math.floor(app.clock.now() / 1_000);
  expect(second).toMatchObject({ "webhook-timestamp": String(seconds) });
  expect(second?.["service-signature"]).toMatch(new RegExp(`^t=${seconds},v1=`, "u"));
  app.clock.advance(2 * MINUTE);
  expect(outcome(await app.call("POST", `${hook.path}/deliveries/${id}/redeliver`, { token }))).toBe("404 not_found");
});

it("a replaced secret signs for 24 hours beside the present one, and a second rotation drops the older", async () => {
  const hook = await listener({ status: 200 });
  const rotate = async (): Promise<string> => {
    const path = hook.path.replace("/v2/", "/");
    return (await app.call("POST", `${path}/rotate-secret`, { token })).body.new_secret as string;
  };
  /** Which secrets sign a delivery now, in the order of its signatures. */
  const signing = async (secrets: readonly string[]): Promise<number[]> => {
    await hook.attempted(await hook.test());
    const { headers, body } = hook.receiver.got.at(-1) as Received;
    const [id, time] = [String(headers["webhook-id"]), String(headers["webhook-timestamp"])];
    const signatures = secrets.map((secret) => {
      const key = Buffer.from(secret.replace("whsec_", ""), "base64");
      return `v1,${createHmac("sha256", key).update(`${id}.${time}.${body}`).digest("base64")}`;
    });
    return String(headers["webhook-signature"])
      .split(" ")
      .map((signature) => signatures.indexOf(signature));
  };
  const secrets = [await rotate()];
  app.clock.advance(DAY);
  expect(await signing(secrets)).toEqual([0]);
  secrets.push(await rotate());
  app.clock.advance(DAY - 1);
  expect(await signing(secrets)).toEqual([1, 0]);
  secrets.push(await rotate());
  expect(await signing(secrets)).toEqual([2, 1]);
  app.clock.advance(DAY);
  expect(await signing(secrets)).toEqual([2]);
});

it("a body has at most 20,000 bytes: its longest texts are truncated, and ids remain", () => {
  const data = { install_id: "i", name: "é".repeat(50_000), more: { notes: ["😀".repeat(20_000), "kept"] } };
  const body = bodyOf({ type: "install.active", timestamp: new Date(0), id: "evt_1", orgUuid: "o", data });
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(20_000);
  const event = JSON.parse(body) as { id: string; data: typeof data };
  expect([event.id, event.data.install_id, event.data.more.notes[1]]).toEqual(["evt_1", "i", "kept"]);
  expect(event.data.name.isWellFormed() && event.data.more.notes.every((note) => note.isWellFormed())).toBe(true);
  expect(data.name).toHaveLength(50_000);
});

it.each([301, 307])("a redirect with %i fails an attempt, and is not followed", async (status) => {
  const target = await startReceiver();
  receivers.push(target);
  const hook = await listener({ status, headers: { location: target.url } });
  const row = await hook.attempted(await hook.test());
  expect(row).toMatchObject({ status: "pending", attempts: [{ status_code: status }] });
  expect(target.got).toEqual([]);
});
