import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { addMembers, directoryOf } from "./support.ts";
import type { Directory } from "./support.ts";

/** Members of each large group; three of them are more than a page has. */
const MEMBERS = 8_000;
/** Names in the order of creation; those that begin with L are large. */
const NAMES = ["S1", "L1", "L2", "L3", "S2", "L4", "S3"];

interface Page {
  totalResults: number;
  itemsPerPage: number;
  nextCursor?: string;
  Resources: { displayName: string; members?: { value: string }[] }[];
}

let app: TestApp;
let directory: Directory;
beforeAll(async () => {
  app = await startApp();
  const owner = await founder(app);
  directory = await directoryOf(app, owner);
  for (const displayName of NAMES) {
    app.clock.advance(1_000);
    const { status } = await directory.call("POST", "/Groups", { displayName, members: [{ value: owner.userUuid }] });
    expect(status).toBe(201);
  }
  await addMembers(app, owner.org, MEMBERS - 1);
  await runSql(
    app.databaseUrl,
    `insert into scim_members (group_uuid, user_uuid, org_uuid)
     select g.group_uuid, u.user_uuid, g.org_uuid
     from scim_groups g join scim_users u using (org_uuid)
     where g.org_uuid = $1 and g.display_name like 'l%' on conflict do nothing`,
    [owner.org],
  );
});
afterAll(() => app.close());

const list = async (query: string): Promise<Page> => {
  const { status, body, text } = await directory.call("GET", `/Groups?${query}`);
  expect(status, text.slice(0, 300)).toBe(200);
  return body as Page;
};
const shown = ({ Resources }: Page) => Resources.map(({ displayName, members }) => `${displayName} ${members?.length}`);
const expected = NAMES.map((name) => `${name} ${name.startsWith("L") ? MEMBERS : 1}`);

test("a page of groups ends before it has too many members, and paging by index reads each group once", async () => {
  const first = await list("count=200");
  expect(first).toMatchObject({ totalResults: NAMES.length, itemsPerPage: 3 });
  const read: string[] = [];
  let pages = 0;
  for (let startIndex = 1; startIndex <= NAMES.length; pages++) {
    const page = await list(`startIndex=${startIndex}&count=200`);
    read.push(...shown(page));
    startIndex += page.itemsPerPage;
  }
  expect(read).toEqual(expected);
  expect(pages).toBe(2);
});

test("paging by cursor reads each group once", async () => {
  const read: string[] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const page = await list(`cursor=${encodeURIComponent(cursor)}&count=200`);
    read.push(...shown(page));
    cursor = page.nextCursor;
  }
  expect(read).toEqual(expected);
});

test("without members, all groups are on one page", async () => {
  for (const query of ["excludedAttributes=members", "attributes=displayName"])
    expect(await list(`count=200&${query}`)).toMatchObject({ itemsPerPage: NAMES.length });
});

test("an organization has no more than 10,000 groups, however many are made at once", async () => {
  const owner = await founder(app);
  const own = await directoryOf(app, owner);
  await runSql(
    app.databaseUrl,
    `insert into scim_groups (group_uuid, org_uuid, display_name, data, folded, created_at, updated_at)
     select gen_random_uuid(), $1, 'many' || n, '{}', '{}', now(), now() from generate_series(1, 9998) n`,
    [owner.org],
  );
  const create = (_: unknown, nth: number) => own.call("POST", "/Groups", { displayName: `One of many ${nth}` });
  const answers = await Promise.all(Array.from({ length: 8 }, create));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(2);
  expect(answers.filter(({ status }) => status === 413)).toHaveLength(6);
  expect((await own.call("GET", "/Groups?count=0")).body.totalResults).toBe(10_000);
});
