import pg from "pg";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { listenToStatements, scansOf } from "../lists/statements.ts";
import type { Sent } from "../lists/statements.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { secretsOf } from "./support.ts";

const VERSIONS = 60;

const statements = listenToStatements();
let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

it(`a read of a secret with ${VERSIONS} versions reads one of them`, async () => {
  const somebody = await founder(app);
  const secrets = secretsOf(app, somebody);
  expect(await secrets.put("read", "its value")).toMatchObject({ status: 200 });
  await runSql(
    app.databaseUrl,
    `insert into vault_versions (secret_id, version, key_id, wrapped_key, value, created_at)
     select v.secret_id, n, v.key_id, v.wrapped_key, v.value, v.created_at
     from vault_versions v join vault_secrets s using (secret_id), generate_series(2, $2) n
     where s.org_uuid = $1 and s.name = 'read'`,
    [somebody.org, VERSIONS],
  );
  await runSql(app.databaseUrl, "analyze vault_secrets, vault_versions, vault_keyrings");
  statements.take();
  expect(await secrets.get("read")).toMatchObject({ status: 200, body: { value: "its value", version: 1 } });
  const sent = statements.take().filter(({ text }) => text.includes("vault_versions"));
  expect(sent).toHaveLength(1);
  const client = new pg.Client({ connectionString: app.databaseUrl });
  onTestFinished(() => client.end());
  await client.connect();
  const scans = await scansOf(client, sent[0] as Sent);
  expect(scans.filter(({ table }) => table === "vault_versions").map(({ rows }) => rows)).toEqual([1]);
});
