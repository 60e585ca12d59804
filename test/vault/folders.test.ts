import { afterAll, beforeAll, expect, test } from "vitest";
import { listenToStatements } from "../lists/statements.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { secretsOf } from "./support.ts";

const statements = listenToStatements();
let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

/** Stores 10,000 names of an organization beside those of another: every tenth has no folder, every fiftieth is deleted. */
async function store(org: string, other: string): Promise<void> {
  const sql = `insert into vault_secrets (org_uuid, name, version, first_version, written_at, tags, deleted_at, restorable_until)
    select o, case when n % 10 = 0 then 'plain-' || n else 'folder-' || n % 1203 || '.key.' || n end, 1, 1, now(), '{}',
      case when n % 50 = 1 then now() end, case when n % 50 = 1 then now() + interval '30 days' end
    from generate_series(1, 10000) n, unnest($1::uuid[]) o`;
  await runSql(app.databaseUrl, sql, [[org, other]]);
  await runSql(app.databaseUrl, "vacuum analyze vault_secrets");
}

test("the first 1,000 folders of 10,000 secrets are counted exactly, and read from their index alone", async () => {
  const [owner, other] = [await founder(app), await founder(app)];
  await store(owner.org, other.org);
  const expected = new Map<string, number>();
  for (let n = 1; n <= 10_000; n++)
    if (n % 10 !== 0 && n % 50 !== 1) expected.set(`folder-${n % 1203}`, (expected.get(`folder-${n % 1203}`) ?? 0) + 1);
  statements.take();
  const { body } = await secretsOf(app, owner).list("?include_folders=true&limit=1");
  expect(body.folders).toEqual(
    [...expected]
      .map(([name, secrets]) => ({ name, secrets }))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, 1_000),
  );
  const [sent] = statements.take().filter(({ text }) => text.includes("split_part(name, '.', 1)"));
  const plan = await runSql(app.databaseUrl, `explain (format json) ${sent?.text ?? ""}`, [...(sent?.values ?? [])]);
  expect(JSON.stringify(plan)).toMatch(/"Index Only Scan"[^{}]*"Index Name":"vault_secrets_by_folder"/u);
});
