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

interface Line {
  level: string;
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
  expect(await lineOf(503)).toMatchObject({ level: "warn", error: "unavailable", err: { code: "ECONNREFUSED" } });
  await link.restore();
  await runSql(home.url, "alter table sessions rename to hidden_sessions");
  expect(await lineOf(500)).toMatchObject({ level: "error", error: "internal", err: { code: "42P01" } });
});
