import { afterAll, beforeAll, expect, it } from "vitest";
import { listenToStatements } from "../lists/statements.ts";
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

interface Node {
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  Plans?: Node[];
}

/** Rows that a plan reads of a table. */
function rowsOf(table: string, node: Node): number {
  const { "Actual Loops": loops, "Actual Rows": rows, "Rows Removed by Filter": removed = 0 } = node;
  const own = node["Relation Name"] === table ? loops * (rows + removed) : 0;
  return (node.Plans ?? []).reduce((sum, below) => sum + rowsOf(table, below), own);
}

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
  const [{ text, values }] = sent as [(typeof sent)[number]];
  const [row] = await runSql<{ "QUERY PLAN": [{ Plan: Node }] }>(
    app.databaseUrl,
    `explain (analyze, format json) ${text}`,
    [...values],
  );
  expect(rowsOf("vault_versions", (row as NonNullable<typeof row>)["QUERY PLAN"][0].Plan)).toBe(1);
});
