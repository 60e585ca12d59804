import { afterAll, beforeAll, expect, test } from "vitest";
import { forgetRevoked } from "../../src/domains/credentials/store.ts";
import { migrations } from "../../src/migrations/index.ts";
import { openDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { runSql } from "../support/postgres.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

test("revoked keys and tokens are forgotten once no list shows them, others never", async () => {
  const token = await app.login();
  const { org_uuid: org } = (await app.call("GET", "/api/auth/me", { token })).body;
  const base = `/api/admin/organizations/${org}`;
  const key = async () => (await app.call("POST", `${base}/api-keys`, { token, body: { name: "ci", scopes: ["read:users"], expires_in_days: 1 } })).body.key_id as string;
  const [kept, ended] = [await key(), await key()];
  const scim = (await app.call("POST", `${base}/scim-tokens`, { token, body: {} })).body.token_id as string;
  const revokedAt = new Date(app.clock.now());
  for (const path of [`api-keys/${ended}`, `scim-tokens/${scim}`]) expect((await app.call("DELETE", `${base}/${path}`, { token })).status).toBe(204);

  const database = await openDatabase({ url: app.databaseUrl, entities: [], migrations, clock: app.clock, log: silentLog });
  expect(await forgetRevoked(database, revokedAt)).toBe(0);
  expect((await app.call("GET", `${base}/api-keys`, { token })).body.total).toBe(2);
  expect(await forgetRevoked(database, new Date(revokedAt.getTime() + 1))).toBe(2);
  await database.close();
  expect(await runSql(app.databaseUrl, "select key_id from api_keys union select token_id from scim_tokens")).toEqual([{ key_id: kept }]);
});
