import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { flakyLink } from "../support/flaky-link.ts";
import type { FlakyLink } from "../support/flaky-link.ts";
import { freePort } from "../support/postgres.ts";
import { runProgram } from "../support/program.ts";
import type { ProgramRun } from "../support/program.ts";
import { temporalServer } from "../support/temporal.ts";

const PASSWORD = randomBytes(12).toString("base64url");

let home: TestDatabase;
let postgres: FlakyLink;
let temporal: FlakyLink;
let program: ProgramRun;
let url: string;

beforeAll(async () => {
  home = await testDatabase();
  const direct = new URL(home.url);
  postgres = await flakyLink({ host: direct.hostname, port: Number(direct.port) });
  direct.port = String(postgres.port);
  const { address, namespace } = await temporalServer();
  const [host = "", temporalPort] = address.split(":");
  temporal = await flakyLink({ host, port: Number(temporalPort) });
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  program = runProgram("src/main.ts", ["all"], {
    SERVICE_PROFILE: "production",
    PORT: String(port),
    SERVICE_HOST: "127.0.0.1",
    SERVICE_BASE_URL: "https://id.example.com",
    DATABASE_URL: direct.href,
    TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}`,
    TEMPORAL_NAMESPACE: namespace,
    SERVICE_INSTANCE_KEY: randomBytes(32).toString("base64"),
    SERVICE_MAIL: "off",
    SERVICE_BOOTSTRAP_ORG: "Lost",
    SERVICE_BOOTSTRAP_EMAIL: "owner@lost.test",
    SERVICE_BOOTSTRAP_PASSWORD: PASSWORD,
  });
  await program.until(/Ready on/);
});
afterAll(async () => {
  process.kill(program.pid, "SIGTERM");
  await program.exit;
  await postgres.close();
  await temporal.close();
  await home.close();
});

/** Lines of the program since `from`, a length of its output. */
const lines = (from = 0) => program.output().slice(from).trimEnd().split("\n");
const logged = (pattern: RegExp, from: number) => lines(from).filter((line) => pattern.test(line));
const until = (pattern: RegExp, from: number) => expect.poll(() => logged(pattern, from).length).toBeGreaterThan(0);
/** Lines up to the first that matches: after it, a busy machine may seem to lose the server again. */
const loggedUntil = (end: RegExp, pattern: RegExp, from: number) => {
  const all = lines(from);
  return all
    .slice(
      0,
      all.findIndex((line) => end.test(line)),
    )
    .filter((line) => pattern.test(line));
};

async function login(): Promise<number> {
  const response = await fetch(`${url}/api/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email: "owner@lost.test", password: PASSWORD }),
  });
  await response.body?.cancel();
  return response.status;
}

test("the first start in production logs that it created the organization, without password and address", async () => {
  await program.until(/Created the first organization, Lost/);
  expect(program.output()).not.toContain(PASSWORD);
  expect(program.output()).not.toContain("owner@lost.test");
});

test("a lost database is logged once with its reason, however many requests it refuses, and its end too", async () => {
  await expect.poll(login).toBe(200);
  const from = program.output().length;
  await postgres.cut();
  // A look that the end of its connection interrupts has another reason than one after it.
  await until(/"level":"warn".*"reason":"[^"].*The database is unreachable/, from);
  expect(await Promise.all(Array.from({ length: 20 }, login))).toEqual(Array<number>(20).fill(503));
  await expect.poll(() => logged(/"status":503.*"msg":"request"/, from).length).toBeGreaterThanOrEqual(20);
  expect(logged(/ECONNREFUSED.*"msg":"request refused/, from).length).toBeLessThan(5);
  await postgres.restore();
  await until(/"level":"info".*"seconds":\d+.*The database is in order again/, from);
  await expect.poll(login).toBe(200);
  expect(loggedUntil(/The database is in order/, /The database is unreachable/, from)).toHaveLength(1);
});

test("a lost Temporal is logged once, its return too, and every line is JSON", async () => {
  const from = program.output().length;
  await temporal.cut();
  await until(/"level":"warn".*Temporal is not reachable/, from);
  // Each poll of the SDK has been retried by now, which its native part logs.
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  await temporal.restore();
  await until(/"level":"info".*Temporal is in order again/, from);
  expect(loggedUntil(/Temporal is in order/, /Temporal is not reachable/, from)).toHaveLength(1);
  expect(lines().filter((line) => !line.startsWith("{"))).toEqual([]);
});
