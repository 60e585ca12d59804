import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";
import type { Received, Receiver } from "./receiver.ts";

let app: TestApp;
let owner: Somebody;
const receivers: Receiver[] = [];
beforeAll(async () => {
  const env = { SERVICE_OPEN_SIGNUP: "1", SERVICE_WEBHOOK_SCHEDULE: "0s,2s,1h,1h" };
  app = await startApp({ role: "all", temporal: await temporalServer(), clock: systemClock, env });
  owner = await founder(app);
});
afterAll(async () => {
  await app.close();
  await Promise.all(receivers.map((receiver) => receiver.close()));
});

interface Row {
  delivery_id: string;
  event_type: string;
  status: string;
  next_attempt_at: string | null;
  attempts: { status_code: number | null }[];
}

async function listen(answer: (post: Received, nth: number) => number | "hang") {
  const receiver = await startReceiver(answer);
  receivers.push(receiver);
  const { body } = await app.call("POST", "/api/v2/webhooks", {
    token: owner.token,
    body: { url: receiver.url, events: ["api_key.created", "api_key.revoked"] },
  });
  const path = `/api/v2/webhooks/${body.webhook_id as string}`;
  const rows = async (): Promise<Row[]> =>
    (await app.call("GET", `${path}/deliveries`, { token: owner.token })).body.data as Row[];
  const row = async (id: string): Promise<Row | undefined> =>
    (await rows()).find(({ delivery_id }) => delivery_id === id);
  return {
    id: body.webhook_id as string,
    path,
    receiver,
    rows,
    row,
    patch: (status: string) => app.call("PATCH", path, { token: owner.token, body: { status } }),
    test: async () => (await app.call("POST", `${path}/test`, { token: owner.token })).body.delivery_id as string,
    attempted: (id: string, times: number) => expect.poll(async () => (await row(id))?.attempts.length).toBe(times),
  };
}
const makeKey = async (): Promise<string> => {
  const body = { name: "key", scopes: ["read:users"] };
  return (await app.call("POST", `/api/admin/organizations/${owner.org}/api-keys`, { token: owner.token, body })).body
    .key_id as string;
};
const dueIn = (row: Row | undefined): number => Date.parse(row?.next_attempt_at ?? "") - Date.now();

it("an event that an endpoint refuses keeps its own schedule and holds up no other once the endpoint has taken one", async () => {
  const hook = await listen(({ event }) => (event.type === "api_key.revoked" ? 400 : 200));
  const keyId = await makeKey();
  await hook.receiver.waitFor(1);
  expect(
    (await app.call("DELETE", `/api/admin/organizations/${owner.org}/api-keys/${keyId}`, { token: owner.token }))
      .status,
  ).toBe(204);
  const refused = (await hook.rows()).find(({ event_type: type }) => type === "api_key.revoked")?.delivery_id ?? "";
  await hook.attempted(refused, 1);
  // The latest outcome is a failure: this one joins, and is taken with the next attempt at the other.
  await makeKey();
  await hook.attempted(refused, 2);
  await hook.receiver.waitFor(2, ({ event }) => event.type === "api_key.created");
  await expect.poll(async () => (await hook.row(refused))?.next_attempt_at ?? null).not.toBeNull();
  // What was refused waits about an hour now. What comes next does not wait with it.
  for (let nth = 3; nth <= 6; nth++) {
    await makeKey();
    await hook.receiver.waitFor(nth, ({ event }) => event.type === "api_key.created");
  }
  await expect
    .poll(async () => (await hook.rows()).map(({ status }) => status).toSorted())
    .toEqual([...Array<string>(6).fill("delivered"), "pending"]);
  const row = await hook.row(refused);
  expect(row?.attempts).toHaveLength(2);
  expect(dueIn(row)).toBeGreaterThan(40 * 60_000);
});

it("a delivery that joins the retries while the endpoint recovers is sent at once too", async () => {
  let status = 503;
  const hook = await listen(() => status);
  const first = await hook.test();
  await hook.attempted(first, 2);
  // Stands for a transaction that has joined a retry an hour away, and commits after the endpoint has answered.
  const held = await holding(app.databaseUrl);
  await held.run("select 1 from webhooks where webhook_id = $1 for key share", [hook.id]);
  await held.run(
    "insert into webhook_events (event_id, type, body, created_at) values ('evt_late', 'api_key.created', '{\"type\":\"late\"}', now())",
  );
  await held.run(
    `insert into webhook_deliveries (delivery_id, event_id, webhook_id, status, queue, next_attempt_at, created_at)
     values (gen_random_uuid(), 'evt_late', $1, 'pending', 'retry', now() + interval '1 hour', now())`,
    [hook.id],
  );
  status = 200;
  await hook.test();
  await held.waitedFor();
  await held.commit();
  await hook.receiver.waitFor(1, ({ headers }) => headers["webhook-id"] === "evt_late");
  await expect.poll(async () => (await hook.rows()).every((row) => row.status === "delivered")).toBe(true);
});

it("an attempt in flight while its delivery is repeated counts neither as a failure nor as an attempt of the schedule", async () => {
  let answer: number | "hang" = 200;
  const hook = await listen(() => answer);
  // An endpoint that has answered gets a second post beside one that it keeps waiting.
  await hook.attempted(await hook.test(), 1);
  answer = "hang";
  const id = await hook.test();
  await hook.receiver.waitFor(2);
  expect((await hook.patch("disabled")).status).toBe(200);
  expect((await hook.patch("enabled")).status).toBe(200);
  answer = 200;
  expect((await app.call("POST", `${hook.path}/deliveries/${id}/redeliver`, { token: owner.token })).status).toBe(202);
  await expect.poll(async () => (await hook.row(id))?.status).toBe("delivered");
  // The first one ends without an answer.
  await hook.receiver.close();
  receivers.splice(receivers.indexOf(hook.receiver), 1);
  await expect
    .poll(async () => (await hook.row(id))?.attempts.map(({ status_code: code }) => code))
    .toEqual([200, null]);
  expect(await hook.row(id)).toMatchObject({ status: "delivered", next_attempt_at: null });
  expect(await runSql(app.databaseUrl, "select failing_since from webhooks where webhook_id = $1", [hook.id])).toEqual([
    { failing_since: null },
  ]);
});
