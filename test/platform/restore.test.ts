import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { documentText } from "../support/document-blocks.ts";
import { founder, invite, mailsTo, newcomer } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

/** The SQL blocks of the section about backups. */
function restoreSql(): string[] {
  const section = documentText("docs/operations.md").split("\n## Backup and restore\n")[1]?.split("\n## ")[0] ?? "";
  return [...section.matchAll(/^```sql\n([^]*?)^```$/gmu)].map(([, sql = ""]) => sql);
}

test("the statements for a restore end sessions, links, invitations and the keys of programs", async () => {
  const owner = await founder(app);
  const { token: invitation } = await invite(app, owner, "guest@restored.test");
  await app.call("POST", "/api/auth/password/forgot", { body: { email: owner.email } });
  const key = await app.call("POST", `/api/admin/organizations/${owner.org}/api-keys`, {
    token: owner.token,
    body: { name: "program", scopes: ["read:webhooks"] },
  });
  const asked = async (token: string) => (await app.call("GET", "/api/v2/webhooks", { token })).status;
  expect([await asked(owner.token), await asked(key.body.api_key)]).toEqual([200, 200]);

  const [people = "", programs = "", ...more] = restoreSql();
  expect(more).toEqual([]);
  await runSql(app.databaseUrl, people);
  expect([await asked(owner.token), await asked(key.body.api_key)]).toEqual([401, 200]);
  const refreshed = await app.call("POST", "/api/auth/refresh", { body: { refresh_token: owner.refreshToken } });
  expect(refreshed.status).toBe(401);
  const accepted = await app.call("POST", "/api/auth/invite/accept", { body: { token: invitation, ...newcomer() } });
  expect(accepted.status).toBe(404);
  expect(await mailsTo(app, owner.email)).toEqual([]);
  await runSql(app.databaseUrl, programs);
  expect(await asked(key.body.api_key)).toBe(401);
  await runSql(app.databaseUrl, "truncate liveness_changes, webhook_changes");
});
