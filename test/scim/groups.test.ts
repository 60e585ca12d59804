import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { directoryOf, GROUP_URN, refusal } from "./support.ts";
import type { Directory } from "./support.ts";

let app: TestApp;
let owner: Somebody;
let directory: Directory;
let users: string[];
beforeAll(async () => {
  app = await startApp();
  owner = await founder(app);
  directory = await directoryOf(app, owner);
  users = [];
  for (let n = 0; n < 4; n++) users.push((await directory.user({ userName: `member${n}@scim.test` })).id);
  users.sort();
});
afterAll(() => app.close());

let made = 0;
const create = (members: (string | undefined)[] = [], more: object = {}) =>
  directory.call("POST", "/Groups", {
    schemas: [GROUP_URN],
    displayName: `Team ${++made}`,
    members: members.map((value) => ({ value })),
    ...more,
  });
const upper = (id: string | undefined) => id?.toUpperCase();
const idsOf = (group: { members?: { value: string }[] }) => (group.members ?? []).map(({ value }) => value);

describe("a group", () => {
  test("a group is created with members, and its members show it", async () => {
    const answer = await create(users.slice(0, 2), { externalId: "g1" });
    expect(answer.status, answer.text).toBe(201);
    const { id, displayName } = answer.body;
    const location = `http://atrium.test${directory.base}/Groups/${id}`;
    expect(answer.headers.get("location")).toBe(location);
    expect(answer.body).toMatchObject({
      schemas: [GROUP_URN],
      externalId: "g1",
      members: users.slice(0, 2).map((value) => ({
        value,
        $ref: `http://atrium.test${directory.base}/Users/${value}`,
        type: "User",
      })),
      meta: { resourceType: "Group", location, version: answer.headers.get("etag") },
    });
    expect((await directory.call("GET", `/Groups/${id}`)).body).toEqual(answer.body);
    const user = await directory.call("GET", `/Users/${users[0]}`);
    expect(user.body.groups).toContainEqual({ value: id, $ref: location, display: displayName, type: "direct" });
    expect(user.headers.get("etag")).not.toBe('W/"1"');
    const inGroup = await directory.call("GET", `/Users?filter=${encodeURIComponent(`groups.value eq "${id}"`)}`);
    expect(inGroup.body.Resources.map((one: { id: string }) => one.id).sort()).toEqual(users.slice(0, 2));
    const having = `members[value eq "${users[1]}"] and displayName eq "${displayName.toUpperCase()}"`;
    const found = await directory.call(
      "GET",
      `/Groups?excludedAttributes=members&filter=${encodeURIComponent(having)}`,
    );
    expect(found.body.Resources).toEqual([{ ...answer.body, members: undefined }]);
  });

  test("a displayName in use returns 409, an unknown, foreign or nested member 400, and nothing is created", async () => {
    const { body: group } = await create();
    const foreign = await founder(app);
    const again = { displayName: group.displayName.toUpperCase() };
    expect(refusal(await create([], again))).toBe("409 uniqueness conflict");
    const before = (await directory.call("GET", "/Groups?count=0")).body.totalResults;
    for (const value of ["0b1d2a3e-aaaa-4000-8000-00000000000f", foreign.userUuid, group.id, "x"])
      expect(refusal(await create([users[0], value]))).toBe("400 invalidValue validation_error");
    expect(refusal(await create([], { displayName: undefined }))).toBe("400 invalidValue validation_error");
    const many = Array.from({ length: 10_001 }, (_, n) => `${String(n).padStart(8, "0")}-aaaa-4000-8000-00000000000f`);
    expect(refusal(await create(many))).toBe("400 invalidValue validation_error");
    expect((await directory.call("GET", "/Groups?count=0")).body.totalResults).toBe(before);
  });

  test("PUT and PATCH of 10,001 members return 400 and change nothing", async () => {
    const { body: group, headers } = await create(users.slice(0, 1));
    const path = `/Groups/${group.id}`;
    const unknown = Array.from({ length: 10_001 }, (_, n) => ({
      value: `${String(n).padStart(8, "0")}-aaaa-4000-8000-00000000000f`,
    }));
    const put = (members: object[]) => directory.call("PUT", path, { displayName: group.displayName, members });
    const add = (value: object[]) => ({ op: "add", path: "members", value });
    for (const answer of [
      await put(unknown),
      await directory.patch(path, add(unknown)),
      await directory.patch(path, { op: "replace", path: "members", value: unknown }),
      await directory.patch(path, { op: "add", value: { members: unknown } }),
      await directory.patch(path, add(unknown.slice(0, 5_000)), add(unknown.slice(5_000))),
    ]) {
      expect(refusal(answer)).toBe("400 invalidValue validation_error");
      expect(answer.body.detail).toContain("more than 10000 values");
    }
    // 10,000 are not too many: nobody of them is known.
    expect((await put(unknown.slice(1))).body.detail).not.toContain("more than");
    const read = await directory.call("GET", path);
    expect([read.headers.get("etag"), read.body]).toEqual([headers.get("etag"), group]);
  });

  test("PATCH adds and removes members in every way, and the same again changes nothing", async () => {
    const { body: group } = await create(users.slice(0, 1));
    const patch = async (...operations: object[]) => {
      const answer = await directory.patch(`/Groups/${group.id}`, ...operations);
      expect(answer.status, answer.text).toBe(200);
      return answer;
    };
    const [a, b, c, d] = users;
    const both = { op: "Add", path: "members", value: [{ value: b }, { value: c }] };
    const first = await patch(both);
    expect(idsOf(first.body)).toEqual([a, b, c]);
    const events = (await auditOf(app, owner, "scim.group.updated")).length;
    const again = await patch(both);
    expect([again.headers.get("etag"), again.body]).toEqual([first.headers.get("etag"), first.body]);
    expect((await auditOf(app, owner, "scim.group.updated")).length).toBe(events);
    expect(idsOf((await patch({ op: "remove", path: `members[value eq "${b}"]` })).body)).toEqual([a, c]);
    expect(idsOf((await patch({ op: "remove", path: `members[value eq "${b}"]` })).body)).toEqual([a, c]);
    expect(idsOf((await patch({ op: "Remove", path: "members", value: [{ value: a }] })).body)).toEqual([c]);
    expect(idsOf((await patch({ op: "add", path: "members", value: [{ value: upper(a) }] })).body)).toEqual([a, c]);
    expect(idsOf((await patch({ op: "remove", path: `members[value eq "${upper(a)}"]` })).body)).toEqual([c]);
    expect(idsOf((await patch(both)).body)).toEqual([b, c]);
    expect(idsOf((await patch({ op: "remove", path: "members", value: [{ value: upper(b) }] })).body)).toEqual([c]);
    const holders = encodeURIComponent(`members[value eq "${upper(c)}"] and id eq "${group.id}"`);
    expect((await directory.call("GET", `/Groups?filter=${holders}`)).body.totalResults).toBe(1);
    expect(
      idsOf((await patch({ op: "add", value: { members: [{ value: d }], displayName: "New name" } })).body),
    ).toEqual([c, d]);
    expect(idsOf((await patch({ op: "replace", path: "members", value: [{ value: a }] })).body)).toEqual([a]);
    expect(idsOf((await patch({ op: "remove", path: "members" })).body)).toEqual([]);
    const odd = await directory.patch(`/Groups/${group.id}`, { op: "replace", path: "members.value", value: a });
    expect(refusal(odd)).toBe("400 mutability validation_error");
    expect((await patch({ op: "replace", value: { id: group.id, displayName: "Renamed" } })).body.displayName).toBe(
      "Renamed",
    );
  });

  test("members are removed by their type", async () => {
    const { body: group } = await create(users.slice(0, 3));
    const [first, ...others] = idsOf(group);
    const left = async (path: string) =>
      idsOf((await directory.patch(`/Groups/${group.id}`, { op: "remove", path })).body);
    expect(await left(`members[type eq "User" and value eq "${first}"]`)).toEqual(others);
    expect(await left('members[type eq "Group"]')).toEqual(others);
    expect(await left('members[type eq "User"]')).toEqual([]);
  });

  test.each([
    ["the version", (tag: string) => tag, "204"],
    ["the version as a strong one", (tag: string) => tag.slice(2), "204"],
    ["several versions, and this one last", (tag: string) => `W/"1-x", ${tag}`, "204"],
    ["several versions, and this one first", (tag: string) => `${tag},W/"1-x"`, "204"],
    ["*", () => " * ", "204"],
    ["other versions", () => 'W/"1-x", W/"2-x"', "412"],
    ["a part of the version", (tag: string) => tag.slice(0, -2), "412"],
  ])("If-Match with %s decides about a deletion", async (_what, header, expected) => {
    const { body } = await directory.call("POST", "/Groups", { displayName: `Matched ${randomUUID()}` });
    const headers = { "if-match": header(body.meta.version as string) };
    expect(refusal(await directory.call("DELETE", `/Groups/${body.id}`, undefined, headers)).slice(0, 3)).toBe(
      expected,
    );
  });

  test("PUT replaces a group, If-Match guards it, and DELETE leaves its members", async () => {
    const { body: group } = await create(users.slice(0, 2));
    const body = { displayName: `${group.displayName} B`, members: [{ value: users[2] }] };
    const put = await directory.call("PUT", `/Groups/${group.id}`, body, { "if-match": group.meta.version });
    expect(idsOf(put.body)).toEqual([users[2]]);
    const stale = await directory.call("DELETE", `/Groups/${group.id}`, undefined, { "if-match": group.meta.version });
    expect(refusal(stale)).toBe("412 precondition_failed");
    expect((await directory.call("DELETE", `/Groups/${group.id}`)).status).toBe(204);
    expect(refusal(await directory.call("GET", `/Groups/${group.id}`))).toBe("404 not_found");
    expect((await directory.call("GET", `/Users/${users[2]}`)).status).toBe(200);
  });

  test("a replacement by a body that no group can have returns 400, whether the group exists or not", async () => {
    const { body: group } = await create();
    for (const id of [group.id, "0b1d2a3e-aaaa-4000-8000-00000000000f"])
      for (const body of [{ externalId: "x" }, { displayName: "No group", members: [{ value: "nobody" }] }])
        expect(refusal(await directory.call("PUT", `/Groups/${id}`, body))).toBe("400 invalidValue validation_error");
  });

  test("a member who leaves the organization leaves its groups, whose ETag changes", async () => {
    const joiner = await member(app, owner);
    const { body: group } = await create([joiner.userUuid]);
    await app.call("DELETE", `/api/users/${joiner.userUuid}`, { token: owner.token });
    const after = await directory.call("GET", `/Groups/${group.id}`);
    expect(idsOf(after.body)).toEqual([]);
    expect(after.headers.get("etag")).not.toBe(group.meta.version);
  });
});
