import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, password } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

it("a user agent is cut to 512 characters wherever it is stored", async () => {
  const who = await founder(app);
  const headers = { "user-agent": `client/${"x".repeat(4_000)}` };
  const kept = headers["user-agent"].slice(0, 512);
  const { status, body } = await app.call("POST", "/api/auth/login", {
    body: { email: who.email, password, org_name: who.orgName },
    headers,
  });
  expect(status).toBe(200);
  const token = body.access_token as string;
  const sessions = await app.call("GET", `/api/organizations/${who.org}/session-inventory`, { token });
  expect((sessions.body.data as { user_agent: string }[]).map((one) => one.user_agent)).toContain(kept);
  const events = await app.call("GET", "/api/auth/events?type=login.password", { token });
  expect(events.body.data[0].user_agent).toBe(kept);
  const stored = await runSql<{ table_name: string }>(
    app.databaseUrl,
    "select table_name from information_schema.columns where column_name = 'user_agent' and table_schema = 'public'",
  );
  for (const { table_name: table } of stored) {
    const [row] = await runSql<{ longest: number }>(
      app.databaseUrl,
      `select coalesce(max(length(user_agent)), 0)::int as longest from ${table}`,
    );
    expect(row?.longest, table).toBeLessThanOrEqual(512);
  }
});
