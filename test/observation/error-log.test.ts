import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { createLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { flakyLink } from "../support/flaky-link.ts";
import type { FlakyLink } from "../support/flaky-link.ts";
import { runSql } from "../support/postgres.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { startReceiver } from "../webhooks/receiver.ts";

interface Line {
  level: string;
  msg: string;
  error?: string;
  err?: { code?: string; cause?: { code?: string } };
}

const lines: Line[] = [];
const log = createLog({ level: "warn", destination: { write: (text) => void lines.push(JSON.parse(text) as Line) } });
let home: TestDatabase;
let link: FlakyLink;
let app: TestApp;
beforeAll(async () => {
  home = await testDatabase();
  const { hostname, port } = new URL(home.url);
  link = await flakyLink({ host: hostname, port: Number(port) });
  app = await startApp({
    databaseUrl: Object.assign(new URL(home.url), { port: String(link.port) }).href,
    log,
    clock: systemClock,
    // Leases of deliveries end 12 s after this.
    env: { SERVICE_WEBHOOK_TIMEOUT: "1s" },
    role: "all",
    temporal: { address: "127.0.0.1:1", namespace: "none" },
  });
});
afterAll(async () => {
  await app.close();
  await link.close();
  await home.close();
});

/** The log line of the refused request, after a login that fails. */
async function lineOf(status: number): Promise<Line | undefined> {
  lines.length = 0;
  const body = { email: app.owner.email, password: app.owner.password, org_name: app.owner.org };
  expect((await app.call("POST", "/api/auth/login", { body })).status).toBe(status);
  return lines.find((line) => line.error !== undefined);
}

it("a refused request is logged with our code and the code of its cause", async () => {
  await link.cut();
  const refused = await lineOf(503);
  expect(refused).toMatchObject({ level: "warn", error: "unavailable", err: { code: "ECONNREFUSED" } });
  expect(JSON.stringify(refused)).not.toContain('"stack"');
  await link.restore();
  await runSql(home.url, "alter table sessions rename to hidden_sessions");
  expect(await lineOf(500)).toMatchObject({ level: "error", error: "internal", err: { code: "42P01" } });
  await runSql(home.url, "alter table hidden_sessions rename to sessions");
});

it("a delivery whose outcome meets a lost database adds no line to that of the process", async () => {
  const receiver = await startReceiver((_post, nth) => {
    if (nth === 1) void link.cut();
    return 200;
  });
  const token = await app.login();
  const body = { url: receiver.url, events: ["webhook.test"] };
  const made = await app.call("POST", "/api/v2/webhooks", { token, body });
  lines.length = 0;
  await app.call("POST", `/api/v2/webhooks/${made.body.webhook_id as string}/test`, { token }).catch(() => undefined);
  await receiver.waitFor(1);
  expect((await app.call("GET", "/api/auth/me", { token })).status).toBe(503);
  await link.restore();
  // It is repeated, so its outcome was lost.
  await receiver.waitFor(2);
  expect(lines.filter(({ msg }) => msg.includes("delivery"))).toEqual([]);
  await receiver.close();
});
