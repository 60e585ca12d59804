import { afterAll, beforeAll, expect, test } from "vitest";
import { deleteEnded } from "../../src/domains/credentials/tidy-store.ts";
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

test("keys and tokens that were revoked or expired are deleted, others are not", async () => {
  const token = await app.login();
  const { org_uuid: org } = (await app.call("GET", "/api/auth/me", { token })).body;
  const base = `/api/admin/organizations/${org}`;
  const key = async () =>
    (
      await app.call("POST", `${base}/api-keys`, {
        token,
        body: { name: "ci", scopes: ["read:users"], expires_in_days: 1 },
      })
    ).body.key_id as string;
  const [kept, ended] = [await key(), await key()];
  const scim = (await app.call("POST", `${base}/scim-tokens`, { token, body: {} })).body.token_id as string;
  const revokedAt = new Date(app.clock.now());
  for (const path of [`api-keys/${ended}`, `scim-tokens/${scim}`])
    expect((await app.call("DELETE", `${base}/${path}`, { token })).status).toBe(204);

  const database = await openDatabase({
    url: app.databaseUrl,
    entities: [],
    migrations,
    clock: app.clock,
    log: silentLog,
  });
  expect(await deleteEnded(database, revokedAt)).toBe(0);
  expect((await app.call("GET", `${base}/api-keys`, { token })).body.total).toBe(2);
  expect(await deleteEnded(database, new Date(revokedAt.getTime() + 1))).toBe(2);
  const left = () => runSql(app.databaseUrl, "select key_id from api_keys union all select token_id from scim_tokens");
  expect(await left()).toEqual([{ key_id: kept }]);

  const other = (await app.call("POST", `${base}/scim-tokens`, { token, body: { expires_in_days: 2 } })).body
    .token_id as string;
  const expiry = revokedAt.getTime() + 86_400_000;
  expect(await deleteEnded(database, new Date(expiry))).toBe(0);
  expect(await deleteEnded(database, new Date(expiry + 1_000))).toBe(1);
  expect(await left()).toEqual([{ key_id: other }]);
  await database.close();
});
