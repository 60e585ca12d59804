import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readGroupPatch } from "../../src/domains/scim/patch/group-patch.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { addMembers, directoryOf, refusal } from "./support.ts";
import type { Directory } from "./support.ts";

/** As many members as a group may have. */
const MEMBERS = 10_000;

let app: TestApp;
let directory: Directory;
let org: string;
let ids: string[];
beforeAll(async () => {
  app = await startApp();
  const owner = await founder(app);
  ({ org } = owner);
  directory = await directoryOf(app, owner);
  await addMembers(app, org, MEMBERS);
  const rows = await runSql<{ id: string }>(
    app.databaseUrl,
    "select user_uuid as id from scim_users where org_uuid = $1 and user_uuid <> $2 order by 1",
    [org, owner.userUuid],
  );
  ids = rows.map(({ id }) => id);
});
afterAll(() => app.close());

/** A group with all members but the founder. */
async function fullGroup(displayName: string): Promise<string> {
  const { body } = await directory.call("POST", "/Groups", { displayName });
  await runSql(
    app.databaseUrl,
    "insert into scim_members (group_uuid, user_uuid, org_uuid) select $1, unnest($2::uuid[]), $3",
    [body.id, ids, org],
  );
  return `/Groups/${body.id}`;
}

async function members(group: string): Promise<string[]> {
  const { body } = await directory.call("GET", group);
  return ((body.members ?? []) as { value: string }[]).map(({ value }) => value);
}

test("operations that name members of a large group do not compare the others", async () => {
  const group = await fullGroup("Named");
  const operations = Array.from({ length: 600 }, (_, nth) => ({
    op: "remove",
    path: "members",
    value: ids.slice(3 * nth, 3 * nth + 3).map((value) => ({ value: value.toUpperCase() })),
  }));
  const answer = await directory.patch(group, ...operations);
  expect(refusal(answer)).toBe("200");
  expect(answer.body.members).toHaveLength(MEMBERS - 1_800);
  expect(await members(group)).toEqual(ids.slice(1_800));
});

test("a change of few members counts those that are not named", async () => {
  const group = await fullGroup("Counted");
  const [founding] = (await directory.call("GET", "/Users?count=1")).body.Resources as { id: string }[];
  const add = (id: string | undefined) => ({ op: "add", path: "members", value: [{ value: id }] });
  const remove = (id: string | undefined) => ({ op: "remove", path: `members[value eq "${id}"]` });
  expect(refusal(await directory.patch(group, add(founding?.id)))).toBe("400 invalidValue validation_error");
  expect(refusal(await directory.patch(group, add(founding?.id), remove(ids[0])))).toBe(
    "400 invalidValue validation_error",
  );
  const before = (await directory.call("GET", `${group}?excludedAttributes=members`)).body.meta.version;
  const again = await directory.patch(group, add(ids[5]), { op: "add", value: { members: [{ value: ids[6] }] } });
  expect([again.status, again.body.meta.version, again.body.members.length]).toEqual([200, before, MEMBERS]);
  const swapped = await directory.patch(group, remove(ids[0]), add(founding?.id), add(ids[1]));
  expect(swapped.body.members).toEqual((await directory.call("GET", group)).body.members);
  expect(new Set(await members(group))).toEqual(new Set([...ids.slice(1), founding?.id]));
});

test("operations on single members have the same result as operations on all of them", async () => {
  const [a, b, c, d] = ids as [string, string, string, string];
  const named = (...some: string[]) => some.map((value) => ({ value }));
  const cases: [object[], string[]][] = [
    [
      [
        { op: "add", path: "members", value: named(b) },
        { op: "remove", path: `members[value eq "${b}"]` },
      ],
      [a],
    ],
    [
      [
        { op: "remove", path: `members[value eq "${a}"]` },
        { op: "add", path: "members", value: named(a, c) },
      ],
      [a, c],
    ],
    [
      [
        { op: "replace", value: { members: named(c, d) } },
        { op: "remove", path: "members", value: named(c) },
      ],
      [d],
    ],
    [
      [
        { op: "add", value: { Members: named(d.toUpperCase()) } },
        { op: "remove", path: "members" },
      ],
      [],
    ],
    [
      [
        { op: "remove", path: "members" },
        { op: "add", path: "members", value: named(b, c) },
      ],
      [b, c],
    ],
    [[{ op: "remove", path: `members[value eq "${a}" or value eq "${b}"]` }], []],
    [
      [
        { op: "add", path: "members", value: named(b) },
        { op: "remove", path: `members[type eq "User"]` },
      ],
      [],
    ],
    [
      [
        { op: "remove", path: "members", value: [] },
        { op: "remove", path: `members[value eq "nobody"]` },
      ],
      [a],
    ],
    [[{ op: "replace", path: "displayName", value: "Renamed" }], [a]],
  ];
  for (const [nth, [operations, left]] of cases.entries()) {
    const made = await directory.call("POST", "/Groups", { displayName: `Case ${nth}`, members: named(a) });
    const answer = await directory.patch(`/Groups/${made.body.id}`, ...operations);
    expect(refusal(answer), JSON.stringify(operations)).toBe("200");
    const shown = ((answer.body.members ?? []) as { value: string }[]).map(({ value }) => value);
    expect([shown, await members(`/Groups/${made.body.id}`)], JSON.stringify(operations)).toEqual([left, left]);
    await directory.call("DELETE", `/Groups/${made.body.id}`);
  }
});

test("a change that concerns no members does not read them, alone and in a bulk request", async () => {
  const group = await fullGroup("Unread");
  const held = await holding(app.databaseUrl);
  await held.run("lock table scim_members in access exclusive mode");
  const rename = (value: string) => ({ Operations: [{ op: "replace", path: "displayName", value }] });
  const alone = await directory.call("PATCH", `${group}?excludedAttributes=members`, rename("Unread too"));
  expect(refusal(alone)).toBe("200");
  const bulk = await directory.call("POST", "/Bulk", {
    Operations: [{ method: "PATCH", path: group, data: rename("Unread at all") }],
  });
  expect(bulk.body.Operations.map(({ status }: { status: string }) => status)).toEqual(["200"]);
  await held.commit();
  expect(await members(group)).toEqual(ids);
});

test("a PATCH whose operations compare many members gives other requests turns between them", async () => {
  const value = (nth: number) => ({ op: "remove", path: `members[value co "no hexadecimal ${nth}"]` });
  const patch = readGroupPatch({ Operations: Array.from({ length: 10 }, (_, nth) => value(nth)) });
  const current = { displayName: "Long", members: ids.map((id) => ({ value: id })) };
  let turns = 0;
  let ends = false;
  const counting = (async () => {
    for (; !ends; turns++) await setImmediate();
  })();
  expect(patch.members).toBeUndefined();
  expect(await patch.apply(current, 0)).toEqual(current);
  ends = true;
  await counting;
  expect(turns).toBeGreaterThanOrEqual(10);
});
