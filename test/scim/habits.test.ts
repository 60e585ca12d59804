import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { directoryOf, ENTERPRISE_URN, GROUP_URN, PATCH_URN, refusal, USER_URN } from "./support.ts";
import type { Directory } from "./support.ts";

/*
 * Habits of directories beside Okta and Microsoft Entra ID: of Google Workspace, OneLogin, JumpCloud, Ping, the SCIM
 * clients of Keycloak, and clients made for AWS IAM Identity Center.
 */

let app: TestApp;
let directory: Directory;
let made = 0;
let userName: string;
let user: { id: string; meta: { version: string } };
let group: { id: string; meta: { version: string } };
beforeAll(async () => {
  app = await startApp();
  directory = await directoryOf(app, await founder(app));
});
afterAll(() => app.close());
beforeEach(async () => {
  userName = `ann+${++made}@habits.test`;
  const emails = [{ value: userName, type: "work", primary: true }];
  user = await directory.user({ userName, name: { givenName: "Ann", familyName: "Lee" }, emails });
  group = await created({ displayName: `Team ${made}`, externalId: `x${made}`, members: [{ value: user.id }] });
});

async function created(body: object): Promise<typeof group> {
  const answer = await directory.call("POST", "/Groups", { schemas: [GROUP_URN], ...body });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}
const idsOf = ({ body }: Answer): string[] => ((body.members ?? []) as { value: string }[]).map(({ value }) => value);
const send = (method: string, path: string, headers: Record<string, string>, body?: object): Promise<Answer> =>
  app.call(method, `${directory.base}${path}`, { headers, ...(body !== undefined && { body }) });

describe("headers", () => {
  test.each(["Bearer", "bearer", "BEARER"])("a token is taken after %s", async (scheme) => {
    expect((await send("GET", "/Users?count=1", { AUTHORIZATION: `${scheme} ${directory.token}` })).status).toBe(200);
  });

  test.each([
    "application/json",
    "application/json; charset=UTF-8",
    "application/scim+json;charset=utf-8",
    "Application/SCIM+JSON",
  ])("a body of type %s is taken, and the answer is application/scim+json whatever is accepted", async (type) => {
    const headers = { authorization: `Bearer ${directory.token}`, "content-type": type, accept: "application/json" };
    const answer = await send("POST", "/Users", headers, { userName: `type${++made}@habits.test` });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([201, "application/scim+json"]);
  });

  test("HEAD has the headers of GET, and a trailing slash is no route", async () => {
    const [read, head] = await Promise.all(
      ["GET", "HEAD"].map((method) => directory.call(method, `/Users/${user.id}`)),
    );
    expect([head?.status, head?.text]).toEqual([200, ""]);
    for (const name of ["etag", "content-type", "content-length"])
      expect(head?.headers.get(name)).toBe(read?.headers.get(name));
    for (const path of ["/Users/", `/Users/${user.id}/`, "/Groups/", "/ServiceProviderConfig/"])
      expect(refusal(await directory.call("GET", path)), path).toBe("404 not_found");
  });
});

describe("queries", () => {
  const found = async (query: string): Promise<unknown> => {
    const { status, body } = await directory.call("GET", `/Users?${query}`);
    return [status, (body.Resources as { id: string }[]).map(({ id }) => id)];
  };

  test.each([
    ['userName eq "@"', (text: string) => encodeURIComponent(text)],
    ['userName eq "@"', (text: string) => encodeURIComponent(text).replaceAll("%20", "+")],
    ['  userName   eq "@" ', (text: string) => encodeURIComponent(text)],
    ['userName eq "@" ', (text: string) => encodeURI(text).replaceAll("+", "%2b")],
    ['( userName\teq "@" )', (text: string) => encodeURIComponent(text)],
    ['USERNAME EQ "@" AND Active Eq True', (text: string) => encodeURIComponent(text)],
    [`${USER_URN}:userName eq "@"`, (text: string) => encodeURIComponent(text)],
    [`${USER_URN.toUpperCase()}:emails.value eq "@"`, (text: string) => encodeURIComponent(text)],
    ['emails [ type eq "WORK" and value eq "@" ]', (text: string) => encodeURIComponent(text)],
    ['userName eq "@" or emails.value eq "@"', (text: string) => encodeURIComponent(text)],
  ])("%s finds the user however it is written in the URL", async (filter, encode) => {
    expect(await found(`filter=${encode(filter.replaceAll("@", userName))}&startIndex=1&count=100`)).toEqual([
      200,
      [user.id],
    ]);
  });

  test("startIndex 0 is the first result, and count 0 only counts", async () => {
    const filter = `filter=${encodeURIComponent(`userName eq "${userName}"`)}`;
    const page = { totalResults: 1, startIndex: 1 };
    const first = await directory.call("GET", `/Users?startIndex=0&count=1&${filter}`);
    expect(first.body).toMatchObject({ ...page, itemsPerPage: 1, Resources: [{ id: user.id }] });
    const none = await directory.call("GET", `/Users?startIndex=0&count=0&${filter}`);
    expect(none.body).toMatchObject({ ...page, itemsPerPage: 0, Resources: [] });
  });

  test("attributes are named with the URN of their schema, and without case", async () => {
    const read = async (path: string) => Object.keys((await directory.call("GET", path)).body as object).sort();
    expect(await read(`/Users/${user.id}?attributes=${USER_URN}:USERNAME,${USER_URN}:name.givenName`)).toEqual([
      "id",
      "name",
      "schemas",
      "userName",
    ]);
    expect(await read(`/Groups/${group.id}?excludedAttributes=${GROUP_URN}:members,meta,EXTERNALID`)).toEqual([
      "displayName",
      "id",
      "schemas",
    ]);
  });
});

describe("changes of users", () => {
  const patched = (...operations: object[]) => directory.patch(`/Users/${user.id}`, ...operations);

  test.each<[string, object]>([
    ["a path", { op: "replace", path: "active", value: "false" }],
    ["a path with the URN", { op: "replace", path: `${USER_URN}:active`, value: "False" }],
    ["no path", { op: "replace", value: { active: "FALSE" } }],
    ["no path, and the URN", { op: "Add", value: { [`${USER_URN}:ACTIVE`]: "false" } }],
    ["an empty path", { op: "replace", path: "", value: { Active: false } }],
  ])("a user is deactivated by a text with %s", async (_how, operation) => {
    const answer = await patched(operation);
    expect([answer.status, answer.body.active]).toEqual([200, false]);
  });

  test("a whole user is sent as the value of a replacement without path", async () => {
    const { body } = await directory.call("GET", `/Users/${user.id}`);
    const value = {
      ...body,
      roles: [],
      entitlements: null,
      password: "x",
      displayName: "Ann L.",
      phoneNumbers: null,
      addresses: [{ type: "work", streetAddress: null, country: "GB", primary: "true" }],
      emails: [{ ...body.emails[0], primary: "True" }],
      [ENTERPRISE_URN]: { department: "D1", manager: null },
    };
    const answer = await patched({ op: "replace", value });
    const { meta: _was, schemas: _urns, ...kept } = body;
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toEqual({
      ...kept,
      schemas: [USER_URN, ENTERPRISE_URN],
      displayName: "Ann L.",
      addresses: [{ type: "work", country: "GB", primary: true }],
      groups: body.groups,
      [ENTERPRISE_URN]: { department: "D1" },
      meta: expect.any(Object),
    });
  });

  test("a user who is put back as they were read does not change, whatever read-only members say", async () => {
    const { body } = await directory.call("GET", `/Users/${user.id}`);
    expect(body.groups).toHaveLength(1);
    const meta = { ...body.meta, created: "2001-01-01T00:00:00Z", version: "1" };
    for (const echoed of [body, { ...body, id: "other", meta, groups: [], schemas: [USER_URN] }]) {
      const answer = await directory.call("PUT", `/Users/${user.id}`, echoed);
      expect([answer.status, answer.headers.get("etag")]).toEqual([200, body.meta.version]);
      expect(answer.body).toEqual(body);
    }
  });
});

describe("changes of groups", () => {
  const patched = (...operations: object[]) => directory.patch(`/Groups/${group.id}`, ...operations);
  let other: string;
  beforeEach(async () => {
    other = (await directory.user({ userName: `bob${++made}@habits.test` })).id as string;
  });

  test.each<[string, (id: string) => object]>([
    ["a list", (value) => ({ op: "add", path: "members", value: [{ value }] })],
    ["one object", (value) => ({ op: "add", path: "members", value: { value, display: "Bob", type: "user" } })],
    ["an id", (value) => ({ op: "Add", path: "members", value })],
    ["a list of ids", (value) => ({ op: "add", path: "Members", value: [value] })],
    ["no path", (value) => ({ op: "add", value: { members: [{ $ref: `../Users/${value}`, value, type: "User" }] } })],
    ["no path, and the URN", (value) => ({ op: "add", value: { [`${GROUP_URN}:members`]: [{ value }] } })],
    ["the URN", (value) => ({ op: "add", path: `${GROUP_URN}:members`, value: [{ value, displayName: "Bob" }] })],
    ["an upper-case id", (value) => ({ op: "add", path: "members", value: [{ value: value.toUpperCase() }] })],
  ])("a member is added by %s, and a second time changes nothing", async (_how, operation) => {
    const first = await patched(operation(other));
    expect(idsOf(first)).toEqual([user.id, other].sort());
    const again = await patched(operation(other));
    expect([again.status, again.body]).toEqual([200, first.body]);
  });

  test.each<[string, (id: string) => object]>([
    ["a filter", (id) => ({ op: "remove", path: `members[value eq "${id}"]` })],
    ["a filter with spaces", (id) => ({ op: "Remove", path: `members[ value  EQ "${id}" ]` })],
    ["a filter and the URN", (id) => ({ op: "remove", path: `${GROUP_URN}:members[value eq "${id}"]` })],
    ["a filter of an upper-case id", (id) => ({ op: "remove", path: `members[value eq "${id.toUpperCase()}"]` })],
    ["a filter of several", (id) => ({ op: "remove", path: `members[value eq "x" or value eq "${id}"]` })],
    ["a filter and a value", (id) => ({ op: "remove", path: `members[value eq "${id}"]`, value: null })],
    ["its value", (id) => ({ op: "remove", path: "members", value: [{ value: id }] })],
    ["its value alone", (id) => ({ op: "remove", path: "members", value: { value: id } })],
    ["its id", (id) => ({ op: "remove", path: "members", value: id })],
    ["an upper-case id", (id) => ({ op: "remove", path: "members", value: [id.toUpperCase()] })],
  ])("a member is removed by %s, and a second time changes nothing", async (_how, operation) => {
    await patched({ op: "add", path: "members", value: [{ value: other }] });
    const first = await patched(operation(other));
    expect([first.status, idsOf(first)]).toEqual([200, [user.id]]);
    const again = await patched(operation(other));
    expect([again.status, again.body]).toEqual([200, first.body]);
  });

  test.each<[string, object, string[]]>([
    ["remove of no value", { op: "remove", path: "members", value: [] }, ["user"]],
    ["add of no value", { op: "add", path: "members", value: [] }, ["user"]],
    ["replacement by no value", { op: "replace", path: "members", value: [] }, []],
    ["replacement by null", { op: "replace", path: "members", value: null }, []],
    ["replacement without path", { op: "replace", value: { members: [] } }, []],
  ])("%s leaves the members that it says", async (_what, operation, left) => {
    expect(idsOf(await patched(operation))).toEqual(left.map(() => user.id));
  });

  test("a group is renamed without path, with everything that was read beside the name", async () => {
    const { body } = await directory.call("GET", `/Groups/${group.id}`);
    const displayName = `Renamed ${++made}`;
    const answer = await patched({ op: "replace", value: { ...body, displayName } });
    expect(answer.body).toEqual({ ...body, displayName, meta: expect.any(Object) });
    const bare = await directory.call("PATCH", `/Groups/${group.id}`, { DISPLAYNAME: `${displayName}!` });
    expect([bare.status, bare.body.displayName]).toEqual([200, `${displayName}!`]);
    const lower = { schemas: [PATCH_URN.toUpperCase()], operations: [{ op: "REPLACE", value: { displayName } }] };
    expect((await directory.call("PATCH", `/Groups/${group.id}`, lower)).body.displayName).toBe(displayName);
  });

  test("a group that is put back as it was read does not change, whatever read-only members say", async () => {
    const { body } = await directory.call("GET", `/Groups/${group.id}`);
    const members = body.members.map(({ value }: { value: string }) => ({ value, display: "Ann", type: "user" }));
    for (const echoed of [body, { ...body, id: "other", meta: null, members: [...members, ...members] }]) {
      const answer = await directory.call("PUT", `/Groups/${group.id}`, echoed);
      expect([answer.status, answer.headers.get("etag")]).toEqual([200, body.meta.version]);
      expect(answer.body).toEqual(body);
    }
  });
});
