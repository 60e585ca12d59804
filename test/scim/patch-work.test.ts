import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { addMembers, directoryOf, refusal } from "./support.ts";
import type { Directory } from "./support.ts";

const MEMBERS = 1_000;

let app: TestApp;
let directory: Directory;
let group: string;
let ids: string[];
beforeAll(async () => {
  app = await startApp();
  const owner = await founder(app);
  directory = await directoryOf(app, owner);
  const made = await directory.call("POST", "/Groups", { displayName: "Many", members: [{ value: owner.userUuid }] });
  group = `/Groups/${made.body.id}`;
  await addMembers(app, owner.org, MEMBERS - 1);
  await runSql(
    app.databaseUrl,
    `insert into scim_members (group_uuid, user_uuid, org_uuid)
     select $2, user_uuid, org_uuid from scim_users where org_uuid = $1 on conflict do nothing`,
    [owner.org, made.body.id],
  );
  ids = await members();
});
afterAll(() => app.close());

async function members(): Promise<string[]> {
  const { body } = await directory.call("GET", group);
  return (body.members as { value: string }[]).map(({ value }) => value);
}

test("a PATCH whose filters compare too many values returns 413, and changes nothing", async () => {
  const filter = Array.from({ length: 400 }, (_, nth) => `value eq "${nth}"`).join(" or ");
  const remove = { op: "remove", path: `members[${filter}]` };
  const first = { op: "remove", path: `members[value eq "${ids[0]}"]` };
  const answer = await directory.patch(group, first, ...Array.from({ length: 60 }, () => remove));
  expect(refusal(answer)).toBe("413 tooMany payload_too_large");
  expect(await members()).toEqual(ids);
});

test("a PATCH by as many filters as there may be operations removes every member they select", async () => {
  const removed = ids.slice(0, 999);
  const answer = await directory.patch(
    group,
    ...removed.map((id) => ({ op: "remove", path: `members[value eq "${id.toUpperCase()}"]` })),
  );
  expect(answer.status, answer.text.slice(0, 300)).toBe(200);
  expect(await members()).toEqual(ids.slice(999));
  await directory.patch(group, { op: "add", path: "members", value: removed.map((value) => ({ value })) });
  expect(await members()).toEqual(ids);
});

test("a PATCH removes those of many named values that are there", async () => {
  const present = ids.filter((_, nth) => nth % 2 === 0);
  const absent = Array.from({ length: 5_000 }, () => randomUUID());
  const value = [...absent, ...present.map((id) => id.toUpperCase())].map((id) => ({ value: id }));
  expect((await directory.patch(group, { op: "remove", path: "members", value })).status).toBe(200);
  expect(await members()).toEqual(ids.filter((_, nth) => nth % 2 === 1));
});

test("operations that add, change and remove values of a long list see each other's values", async () => {
  const emails = Array.from({ length: 60 }, (_, nth) => ({ value: `e${nth}@work.test`, type: "other" }));
  const user = await directory.user({ userName: "long@work.test", emails });
  const one = { value: "one@work.test", type: "other" };
  const add = { op: "add", path: "emails", value: [one] };
  const answer = await directory.patch(
    `/Users/${user.id}`,
    add,
    { op: "remove", path: "emails", value: [{ value: "ONE@work.test" }, ...emails.slice(0, 20)] },
    add,
    { op: "replace", path: 'emails[value eq "one@work.test"].value', value: "two@work.test" },
    add,
    add,
  );
  expect(answer.status, answer.text).toBe(200);
  expect(answer.body.emails).toEqual([...emails.slice(20), { value: "two@work.test", type: "other" }, one]);
});

test("adding again values of a long list that is stored changes nothing", async () => {
  const emails = Array.from({ length: 60 }, (_, nth) => ({ value: `s${nth}@work.test`, type: "other", display: "S" }));
  const user = await directory.user({ userName: `${randomUUID()}@work.test`, emails });
  const answer = await directory.patch(`/Users/${user.id}`, { op: "add", path: "emails", value: emails });
  expect([answer.status, answer.body.emails]).toEqual([200, user.emails]);
  expect(answer.headers.get("etag")).toBe(user.meta.version);
});

test("adding 10,000 members to a group without many takes at most ten times the processor time of replacing them", async () => {
  const value = Array.from({ length: 10_000 }, () => ({ value: randomUUID() }));
  const made = await directory.call("POST", "/Groups", { displayName: "Few", members: [{ value: ids[0] }] });
  const cpuOf = async (op: string): Promise<number> => {
    const before = process.cpuUsage();
    const answer = await directory.patch(`/Groups/${made.body.id}`, { op, path: "members", value: value.slice(1) });
    expect(refusal(answer)).toBe("400 invalidValue validation_error");
    return process.cpuUsage(before).user / 1_000;
  };
  const plain = await cpuOf("replace");
  expect(await cpuOf("add")).toBeLessThan(10 * plain + 500);
});
