import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { addMembers, directoryOf, refusal } from "./support.ts";
import type { Directory } from "./support.ts";

/** Groups of each user; as many as a response has of one. */
const GROUPS = 1_000;
const USERS = 24;

let app: TestApp;
let directory: Directory;
let org: string;
beforeAll(async () => {
  app = await startApp();
  const owner = await founder(app);
  ({ org } = owner);
  directory = await directoryOf(app, owner);
  await addMembers(app, org, USERS);
  await runSql(
    app.databaseUrl,
    `insert into scim_groups (group_uuid, org_uuid, display_name, data, folded, created_at, updated_at)
     select gen_random_uuid(), $1, 'team ' || n, jsonb_build_object('displayName', 'Team ' || n), '{}', now(), now()
     from generate_series(1, ${GROUPS}) n`,
    [org],
  );
  await runSql(
    app.databaseUrl,
    `insert into scim_members (group_uuid, user_uuid, org_uuid)
     select g.group_uuid, u.user_uuid, $1 from scim_groups g join scim_users u using (org_uuid)
     where org_uuid = $1 and u.user_uuid <> $2`,
    [org, owner.userUuid],
  );
});
afterAll(() => app.close());

interface Page {
  totalResults: number;
  itemsPerPage: number;
  Resources: { id: string; groups?: { value: string; display: string }[]; meta: { version: string } }[];
}

test("a page of users ends before it has too many groups, and paging reads each user once", async () => {
  const filter = `filter=${encodeURIComponent("groups pr")}`;
  const read: Page["Resources"] = [];
  let pages = 0;
  for (let startIndex = 1; startIndex <= USERS; pages++) {
    const { status, body, text } = await directory.call("GET", `/Users?count=200&${filter}&startIndex=${startIndex}`);
    expect(status, text.slice(0, 300)).toBe(200);
    expect(text.length).toBeLessThan(5_000_000);
    const page = body as Page;
    expect(page.totalResults).toBe(USERS);
    read.push(...page.Resources);
    startIndex += page.itemsPerPage;
  }
  expect(pages).toBe(2);
  expect(new Set(read.map(({ id }) => id)).size).toBe(USERS);
  expect(read.map(({ groups }) => groups?.length)).toEqual(Array.from({ length: USERS }, () => GROUPS));
  const one = await directory.call("GET", `/Users/${read[0]?.id}`);
  expect(one.body).toEqual(read[0]);
});

test("pages without groups and versions do not read the groups of users", async () => {
  const held = await holding(app.databaseUrl);
  await held.run("lock table scim_members in access exclusive mode");
  for (const query of ["attributes=userName", "excludedAttributes=groups,meta"]) {
    const answer = await directory.call("GET", `/Users?count=200&${query}`);
    expect([refusal(answer), answer.body?.itemsPerPage]).toEqual(["200", USERS + 1]);
    expect(Object.keys(answer.body.Resources[0])).not.toContain("groups");
  }
  await held.commit();
});

test("a list of groups does not wait for somebody who creates a group", async () => {
  const held = await holding(app.databaseUrl);
  await held.run("select pg_advisory_xact_lock(hashtextextended('scim groups of ' || $1, 0))", [org]);
  const answer = await directory.call("GET", "/Groups?count=1&excludedAttributes=members");
  expect([refusal(answer), answer.body?.totalResults]).toEqual(["200", GROUPS]);
  await held.commit();
});
