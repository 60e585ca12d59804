import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";
import type { Received, Receiver } from "./receiver.ts";

const [MINUTE, HOUR] = [60_000, 3_600_000];
let app: TestApp;
let owner: Somebody;
const receivers: Receiver[] = [];
beforeAll(async () => {
  // The clock stands still.
  const env = { SERVICE_OPEN_SIGNUP: "1", SERVICE_WEBHOOK_SCHEDULE: "0s,1h,1h", SERVICE_TTL_PAIR: "30d" };
  app = await startApp({ role: "all", temporal: await temporalServer(), env });
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
  attempts: unknown[];
}

async function listen(answer: (post: Received) => number | "hang") {
  const receiver = await startReceiver(answer);
  receivers.push(receiver);
  const { status, body } = await app.call("POST", "/api/v2/webhooks", {
    token: owner.token,
    body: { url: receiver.url, events: ["api_key.created"] },
  });
  expect(status).toBe(201);
  const id = body.webhook_id as string;
  const path = `/api/v2/webhooks/${id}`;
  const rows = async (): Promise<Row[]> =>
    (await app.call("GET", `${path}/deliveries`, { token: owner.token })).body.data as Row[];
  return {
    path,
    receiver,
    /** Sends a test event and waits for its first attempt. */
    async test() {
      const sent = (await app.call("POST", `${path}/test`, { token: owner.token })).body.delivery_id as string;
      await expect
        .poll(async () => (await rows()).find((row) => row.delivery_id === sent)?.attempts.length)
        .toBeGreaterThan(0);
    },
    key: async () => (await rows()).find((row) => row.event_type === "api_key.created"),
    isFailing: async () =>
      (await runSql(app.databaseUrl, "select failing_since is not null as f from webhooks where webhook_id = $1", [id]))
        .map(({ f }) => f as boolean)
        .at(0),
  };
}
async function makeKey(): Promise<void> {
  const { status } = await app.call("POST", `/api/admin/organizations/${owner.org}/api-keys`, {
    token: owner.token,
    body: { name: "key", scopes: ["read:users"] },
  });
  expect(status).toBe(201);
}

it("a delivery that is refused while the endpoint takes others keeps its schedule, with at most one more attempt in five minutes", async () => {
  let others = 200;
  const hook = await listen(({ event }) => (event.type === "api_key.created" ? 400 : others));
  const attempted = (times: number) => expect.poll(async () => (await hook.key())?.attempts.length).toBe(times);
  const next = async (): Promise<number> => Date.parse((await hook.key())?.next_attempt_at ?? "");
  await makeKey();
  await attempted(1);
  const scheduled = await next();
  expect(scheduled - app.clock.now()).toBeGreaterThan(40 * MINUTE);

  // The endpoint responds to another event: what waits goes out at once, and its schedule remains.
  await hook.test();
  await attempted(2);
  await expect.poll(next).toBe(scheduled);
  const again = app.clock.now() + 5 * MINUTE;
  await hook.test();
  await expect.poll(next).toBe(again);
  await expect.poll(hook.isFailing).toBe(false);
  expect((await hook.key())?.attempts).toHaveLength(2);

  // A failure of another event wakes the workflow, whose own clock does not stand still.
  app.clock.advance(5 * MINUTE);
  others = 503;
  await hook.test();
  await attempted(3);
  await expect.poll(next).toBe(scheduled);

  // Three steps in all, as the schedule has.
  for (const times of [4, 5]) {
    app.clock.advance(2 * HOUR);
    await hook.test();
    await attempted(times);
  }
  await expect.poll(async () => (await hook.key())?.status).toBe("failed");
});

it("a delivery that an instance of an earlier version repeats has its whole schedule again", async () => {
  const hook = await listen(({ event }) => (event.type === "api_key.created" ? 400 : 200));
  const attempted = (times: number) => expect.poll(async () => (await hook.key())?.attempts.length).toBe(times);
  await makeKey();
  await attempted(1);
  for (const times of [2, 3]) {
    await hook.test();
    await attempted(times);
    app.clock.advance(5 * MINUTE);
  }
  // What such an instance writes: it does not know the columns of attempts outside the schedule.
  await runSql(
    app.databaseUrl,
    `update webhook_deliveries set queue = 'first', tries = 0, next_attempt_at = $2, leased_until = null
     where delivery_id = $1`,
    [(await hook.key())?.delivery_id, new Date(app.clock.now())],
  );
  await attempted(4);
  const repeated = await hook.key();
  expect(repeated?.status).toBe("pending");
  expect(Date.parse(repeated?.next_attempt_at ?? "") - app.clock.now()).toBeGreaterThan(40 * MINUTE);
});

it("an attempt in flight is not repeated because the endpoint has responded to another delivery", async () => {
  let key: number | "hang" = 503;
  const hook = await listen(({ event }) => (event.type === "api_key.created" ? key : 200));
  await makeKey();
  await hook.receiver.waitFor(1);
  await expect.poll(hook.isFailing).toBe(true);
  key = "hang";
  await hook.test();
  await hook.receiver.waitFor(3);
  const leased = (await hook.key())?.next_attempt_at;
  await runSql(app.databaseUrl, "update webhooks set failing_since = now() where url = $1", [hook.receiver.url]);
  await hook.test();
  await expect.poll(hook.isFailing).toBe(false);
  expect((await hook.key())?.next_attempt_at).toBe(leased);
});

it("a new URL begins anew: what waits goes out at once, and late failures of the former endpoint do not count", async () => {
  const former = await listen(() => 503);
  const present = await startReceiver();
  receivers.push(present);
  await makeKey();
  await former.receiver.waitFor(1);
  await expect.poll(former.isFailing).toBe(true);
  const moved = await app.call("PATCH", former.path, { token: owner.token, body: { url: present.url } });
  expect(moved.status).toBe(200);
  await present.waitFor(1);
  await expect.poll(async () => (await former.key())?.status).toBe("delivered");

  // An attempt in flight at the former endpoint, which is gone.
  const other = await listen(() => "hang");
  await makeKey();
  await other.receiver.waitFor(1);
  const target = await startReceiver();
  receivers.push(target);
  expect((await app.call("PATCH", other.path, { token: owner.token, body: { url: target.url } })).status).toBe(200);
  other.receiver.release(410);
  await target.waitFor(1);
  expect((await app.call("GET", other.path, { token: owner.token })).body.status).toBe("enabled");
  await expect.poll(other.isFailing).toBe(false);
});
