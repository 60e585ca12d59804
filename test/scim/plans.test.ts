import { afterAll, beforeAll, expect, test } from "vitest";
import { createCompiler, createParameters, parseFilter, USER_TABLE } from "../../src/domains/scim/filter/index.ts";
import { USER } from "../../src/domains/scim/schema/index.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { ENTERPRISE_URN } from "./support.ts";

const USERS = Number(process.env["SCIM_USERS"] ?? 20_000);

let app: TestApp;
let org: string;
beforeAll(async () => {
  app = await startApp();
  ({ org } = await founder(app));
  const sql = (text: string, params: unknown[] = []) => runSql(app.databaseUrl, text, params);
  await sql(
    `insert into people (uuid, email, email_key, created_at, updated_at)
     select gen_random_uuid(), 'p' || n || '@plans.test', 'p' || n || '@plans.test', now(), now()
     from generate_series(1, ${USERS}) n`,
  );
  await sql("alter table memberships disable trigger user");
  await sql(
    `insert into memberships (org_uuid, user_uuid, role_id, email_key, created_at, updated_at)
     select $1, uuid, 3, email_key, now(), now() from people where email like '%@plans.test'`,
    [org],
  );
  await sql(
    `insert into scim_users (org_uuid, user_uuid, user_name, external_id, active, data, folded, created_at, updated_at)
     select $1, p.uuid, p.email_key, 'e' || p.id, true, '{}', jsonb_build_object('schemas', jsonb_build_array('u'),
         'userName', p.email_key, 'title', 't' || p.id, 'name', jsonb_build_object('familyName', 'f' || p.id),
         'emails', jsonb_build_array(jsonb_build_object('value', p.email_key, 'type', 'work')),
         '${ENTERPRISE_URN}', jsonb_build_object('department', 'd' || p.id)),
       timestamptz '2026-01-01' + p.id * interval '1 second', timestamptz '2026-01-01' + p.id * interval '1 second'
     from people p where email like '%@plans.test'`,
    [org],
  );
  await sql("alter table memberships enable trigger user");
  await sql("analyze scim_users");
});
afterAll(() => app.close());

/** A time after which about so many users were modified. */
function ofTheLast(users: number): string {
  return new Date(Date.UTC(2026, 0, 1) + (USERS - users) * 1_000).toISOString();
}

/** The plan of a page of users. */
async function planOf(filter: string): Promise<string> {
  const parameters = createParameters([org], "http://atrium.test");
  const where = createCompiler(USER, USER_TABLE, parameters).condition(parseFilter(filter));
  const rows = await runSql<{ "QUERY PLAN": string }>(
    app.databaseUrl,
    `explain (analyze, costs off, timing off) select u.user_uuid from (
       select u.* from scim_users u where u.org_uuid = $1 and ${where} offset 0) u
     order by u.created_at, u.user_uuid limit 101`,
    [...parameters.values],
  );
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

test.each([
  'userName eq "P77@plans.test"',
  'userName sw "p777"',
  'externalId eq "e77"',
  'id eq "0b1d2a3e-aaaa-4000-8000-00000000000f"',
  'title eq "T77"',
  'name.familyName eq "f77"',
  'emails.value eq "p77@plans.test"',
  'emails[type eq "work" and value eq "p77@plans.test"]',
  `${ENTERPRISE_URN}:department eq "D77"`,
  'userName eq "p1@plans.test" or userName eq "p2@plans.test"',
  `meta.lastModified gt "${ofTheLast(100)}"`,
])("a page of users with %s is found by an index", async (filter) => {
  const plan = await planOf(filter);
  expect(plan).not.toContain("Seq Scan on scim_users");
  const removed = [...plan.matchAll(/Rows Removed by Filter: (\d+)/gu)].map(([, rows]) => Number(rows));
  expect(Math.max(0, ...removed), plan).toBeLessThan(200);
});
