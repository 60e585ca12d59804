import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callRest } from "../support/app.ts";
import { documentText } from "../support/document-blocks.ts";
import { freePort, runSql, startPostgres } from "../support/postgres.ts";
import type { TestServer } from "../support/postgres.ts";
import { runProgram } from "../support/program.ts";
import type { ProgramRun } from "../support/program.ts";

/** The statements name roles of the cluster, so they need a server of their own. */
const isOwn = process.env["TEST_DATABASE_URL"] === undefined;
const owner = { email: "owner@roles.test", password: randomBytes(18).toString("base64") };

let server: TestServer;
let program: ProgramRun | undefined;
let serviceUrl: string;
let url: string;
beforeAll(async () => {
  if (!isOwn) return;
  server = await startPostgres();
  // One by one, as psql sends them: `create database` cannot run beside others.
  for (const statement of rolesSql().split(/;\n/u)) await runSql(server.url, statement);
  serviceUrl = documentedUrl("DATABASE_URL");
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  program = runProgram("src/main.ts", ["serve"], {
    SERVICE_PROFILE: "production",
    PORT: String(port),
    SERVICE_HOST: "127.0.0.1",
    SERVICE_BASE_URL: "https://id.example.com",
    SERVICE_CONSOLE: "off",
    DATABASE_URL: serviceUrl,
    DATABASE_MIGRATION_URL: documentedUrl("DATABASE_MIGRATION_URL"),
    TEMPORAL_ADDRESS: "127.0.0.1:1",
    SERVICE_INSTANCE_KEY: randomBytes(32).toString("base64"),
    SERVICE_MAIL: "off",
    SERVICE_BOOTSTRAP_ORG: "Roles",
    SERVICE_BOOTSTRAP_EMAIL: owner.email,
    SERVICE_BOOTSTRAP_PASSWORD: owner.password,
  });
  await program.until(/Ready on/u);
});
afterAll(async () => {
  if (!isOwn) return;
  try {
    if (program !== undefined) process.kill(program.pid, "SIGTERM");
    await program?.exit;
  } finally {
    await server.stop();
  }
});

const operations = documentText("docs/operations.md");

/** The SQL of the section about database roles. */
function rolesSql(): string {
  const section = operations.split("\n### 1. Database roles\n")[1]?.split("\n### ")[0] ?? "";
  return /^```sql\n([^]*?)^```$/mu.exec(section)?.[1] ?? "";
}

/** The database address of the documented start, on the server of this test. */
function documentedUrl(variable: string): string {
  const address = new RegExp(`^${variable}=(\\S+)`, "mu").exec(operations)?.[1] ?? "";
  return Object.assign(new URL(address), { host: new URL(server.url).host }).href;
}

test.skipIf(!isOwn)("a service with the documented database roles starts, and its first owner signs in", async () => {
  const login = await callRest(url, "POST", "/api/auth/login", { body: owner });
  expect([login.status, login.text]).toEqual([200, expect.stringContaining("access_token")]);
  const token = login.body.access_token as string;
  expect((await callRest(url, "GET", "/api/auth/me", { token })).status).toBe(200);
});

test.skipIf(!isOwn)("the documented role of the service can neither change nor delete audit events", async () => {
  const types = await runSql<{ type: string }>(serviceUrl, "select type from audit_events");
  expect(types.map(({ type }) => type)).toContain("login.password");
  for (const statement of [
    "update audit_events set type = 'x'",
    "delete from audit_events",
    "truncate audit_events",
    "alter table audit_events owner to current_user",
    "set role atrium_owner",
  ])
    for (const role of ["", "set role atrium_app; "])
      await expect(runSql(serviceUrl, role + statement), role + statement).rejects.toMatchObject({ code: "42501" });
});
