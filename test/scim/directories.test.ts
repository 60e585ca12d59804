import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { directoryOf, ENTERPRISE_URN, GROUP_URN, PATCH_URN, USER_URN } from "./support.ts";
import type { Directory } from "./support.ts";

/*
 * The requests that Okta and Microsoft Entra ID document for their provisioning, in the order in which they send them:
 * https://developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20/ and
 * https://learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups.
 */

let app: TestApp;
let owner: Somebody;
let directory: Directory;
beforeAll(async () => {
  app = await startApp();
  owner = await founder(app);
  directory = await directoryOf(app, owner);
});
afterAll(() => app.close());

const LIST_URN = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
const query = (path: string, parameters: Record<string, string>) =>
  directory.call("GET", `${path}?${new URLSearchParams(parameters).toString()}`);
const enter = (email: string, password: string) =>
  app.call("POST", "/api/auth/login", { body: { email, password, org_name: owner.orgName } });

describe("Okta", () => {
  const userName = "test.user@okta.test";
  let user: string;
  let group: string;

  test("Okta finds no user before it creates one, and reads what it created", async () => {
    const none = await query("/Users", { filter: `userName eq "${userName}"`, startIndex: "1", count: "100" });
    expect(none.status).toBe(200);
    expect(none.body).toMatchObject({ schemas: [LIST_URN], totalResults: 0, startIndex: 1, itemsPerPage: 0 });
    expect(none.body.Resources ?? []).toEqual([]);
    const made = await directory.call("POST", "/Users", {
      schemas: [USER_URN],
      userName,
      name: { givenName: "Test", familyName: "User" },
      emails: [{ primary: true, value: userName, type: "work" }],
      displayName: "Test User",
      locale: "en-US",
      externalId: "00ujl29u0le5T6Aj10h7",
      groups: [],
      password: "1mz050nq",
      active: true,
    });
    expect([made.status, made.body.active, made.body.userName]).toEqual([201, true, userName]);
    expect(made.body.password).toBeUndefined();
    user = made.body.id;
    expect((await directory.call("GET", `/Users/${user}`)).body).toEqual(made.body);
    expect((await enter(userName, "1mz050nq")).status).toBe(401);
  });

  test("Okta replaces a whole user to update the profile", async () => {
    const { body: present } = await directory.call("GET", `/Users/${user}`);
    const changed = { ...present, name: { ...present.name, givenName: "Another", middleName: "Excited" } };
    const answer = await directory.call("PUT", `/Users/${user}`, changed);
    expect([answer.status, answer.body.name]).toEqual([
      200,
      { givenName: "Another", middleName: "Excited", familyName: "User" },
    ]);
    expect(answer.body.meta.version).not.toBe(present.meta.version);
  });

  test("Okta deactivates and reactivates a user with a PATCH without path", async () => {
    for (const active of [false, true]) {
      const answer = await directory.patch(`/Users/${user}`, { op: "replace", value: { active } });
      expect([answer.status, answer.body.active]).toEqual([200, active]);
    }
  });

  test("Okta pushes a group, renames it, exchanges its members and deletes it", async () => {
    const all = await query("/Groups", { startIndex: "1", count: "100" });
    expect([all.status, all.body.totalResults]).toEqual([200, 0]);
    const made = await directory.call("POST", "/Groups", {
      schemas: [GROUP_URN],
      displayName: "Test SCIMv2",
      members: [],
    });
    expect(made.status).toBe(201);
    group = made.body.id;
    const path = `/Groups/${group}`;
    const renamed = await directory.patch(path, { op: "replace", value: { id: group, displayName: "Test SCIMv3" } });
    expect([renamed.status, renamed.body.displayName]).toEqual([200, "Test SCIMv3"]);
    const member = { value: user, display: userName };
    const joined = await directory.patch(path, { op: "add", path: "members", value: [member] });
    expect(joined.body.members.map(({ value }: { value: string }) => value)).toEqual([user]);
    const left = await directory.patch(path, { op: "remove", path: `members[value eq "${user}"]` });
    expect(left.body.members ?? []).toEqual([]);
    const exchanged = await directory.patch(path, { op: "replace", path: "members", value: [member] });
    expect(exchanged.body.members).toHaveLength(1);
    const found = await query("/Groups", { filter: 'displayName eq "Test SCIMv3"', startIndex: "1", count: "100" });
    expect(found.body.Resources.map(({ id }: { id: string }) => id)).toEqual([group]);
    expect((await directory.call("DELETE", path)).status).toBe(204);
    expect((await directory.call("GET", path)).status).toBe(404);
  });
});

describe("Microsoft Entra ID", () => {
  const userName = "test_user_ab6490ee@entra.test";
  const external = "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef";
  let user: string;
  let group: string;

  test("Entra tests the connection with a user that does not exist", async () => {
    const answer = await query("/Users", { filter: 'userName eq "4bc7f8d1-9f5b-4a52-9b7c-2f3d1c0b9b11"' });
    expect([answer.status, answer.body.totalResults]).toEqual([200, 0]);
    expect((await directory.call("GET", "/Users/5171a35d82074e068ce2")).status).toBe(404);
    const schemas = await directory.call("GET", "/Schemas");
    expect(schemas.body.Resources.map(({ id }: { id: string }) => id)).toContain(ENTERPRISE_URN);
  });

  test("Entra creates a user with its empty roles and the Enterprise extension", async () => {
    const made = await directory.call("POST", "/Users", {
      schemas: [USER_URN, ENTERPRISE_URN],
      externalId: external,
      userName,
      active: true,
      emails: [{ primary: true, type: "work", value: "test_user_11bb11bb@entra.test" }],
      meta: { resourceType: "User" },
      name: { formatted: "givenName familyName", familyName: "familyName", givenName: "givenName" },
      [ENTERPRISE_URN]: { department: "bob" },
      roles: [],
    });
    expect([made.status, made.body.active, made.body.externalId]).toEqual([201, true, external]);
    expect(made.body[ENTERPRISE_URN].department).toBe("bob");
    user = made.body.id;
    const found = await query("/Users", { filter: `userName eq "${userName.toUpperCase()}"` });
    expect(found.body.Resources.map(({ id }: { id: string }) => id)).toEqual([user]);
    const byExternal = await query("/Users", { filter: `externalId eq "${external}"` });
    expect(byExternal.body.totalResults).toBe(1);
  });

  test("Entra changes several values in one PATCH with capitalized operations", async () => {
    const answer = await directory.call("PATCH", `/Users/${user}`, {
      schemas: [PATCH_URN],
      Operations: [
        { op: "Replace", path: 'emails[type eq "work"].value', value: "updated@entra.test" },
        { op: "Replace", path: "name.familyName", value: "updatedFamilyName" },
        { op: "Add", path: `${ENTERPRISE_URN}:manager`, value: "26118915-6090-4610-87e4-49d8ca9f808d" },
        { op: "Add", value: { [`${ENTERPRISE_URN}:department`]: "alice", "name.givenName": "updatedGivenName" } },
        { op: "Add", path: 'phoneNumbers[type eq "mobile"].value', value: "+1 555 0100" },
      ],
    });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.emails).toEqual([{ primary: true, type: "work", value: "updated@entra.test" }]);
    expect(answer.body.name).toMatchObject({ familyName: "updatedFamilyName", givenName: "updatedGivenName" });
    expect(answer.body[ENTERPRISE_URN].department).toBe("alice");
    expect(answer.body[ENTERPRISE_URN].manager.value).toBe("26118915-6090-4610-87e4-49d8ca9f808d");
    expect(answer.body.phoneNumbers).toEqual([{ type: "mobile", value: "+1 555 0100" }]);
    const byMail = await query("/Users", { filter: 'emails[type eq "work"].value eq "Updated@entra.test"' });
    expect(byMail.body.Resources.map(({ id }: { id: string }) => id)).toEqual([user]);
    const managed = await directory.patch(`/Users/${user}`, {
      op: "Add",
      path: `${ENTERPRISE_URN}:manager`,
      value: [{ $ref: `../Users/${user}`, value: user }],
    });
    expect(managed.body[ENTERPRISE_URN].manager.value).toBe(user);
    const renamed = await directory.patch(`/Users/${user}`, {
      op: "Replace",
      path: "userName",
      value: "5b50642d@entra.test",
    });
    expect([renamed.status, renamed.body.userName]).toEqual([200, "5b50642d@entra.test"]);
  });

  test("Entra asks for a user by their manager without the URN of the extension", async () => {
    const by = (manager: string) =>
      query("/Users", { filter: `id eq "${user}" and manager eq "${manager}"`, attributes: "id" });
    expect((await by(user)).body.Resources.map(({ id }: { id: string }) => id)).toEqual([user]);
    expect((await by("26118915-6090-4610-87e4-49d8ca9f808d")).body.totalResults).toBe(0);
    const unnamed = await query("/Users", { filter: 'boss eq "x"' });
    expect([unnamed.status, unnamed.body.scimType]).toEqual([400, "invalidFilter"]);
  });

  test("Entra disables a user with a boolean as text", async () => {
    const answer = await directory.patch(`/Users/${user}`, { op: "Replace", path: "active", value: "False" });
    expect([answer.status, answer.body.active]).toEqual([200, false]);
    const again = await directory.patch(`/Users/${user}`, { op: "Replace", path: "active", value: "True" });
    expect([again.status, again.body.active]).toEqual([200, true]);
  });

  test("Entra creates a group, reads it without members, and changes name and members", async () => {
    const made = await directory.call("POST", "/Groups", {
      schemas: [GROUP_URN, "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
      externalId: "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159",
      displayName: "displayName",
      meta: { resourceType: "Group" },
    });
    expect(made.status).toBe(201);
    group = made.body.id;
    const path = `/Groups/${group}`;
    const read = await query(path, { excludedAttributes: "members" });
    expect([read.status, read.body.displayName, "members" in read.body]).toEqual([200, "displayName", false]);
    const listed = await query("/Groups", { excludedAttributes: "members", filter: 'displayName eq "displayName"' });
    expect(listed.body.Resources.map(({ id }: { id: string }) => id)).toEqual([group]);
    const renamed = await directory.patch(path, { op: "Replace", path: "displayName", value: "1879db59" });
    expect([renamed.status, renamed.body.displayName]).toEqual([200, "1879db59"]);
    const member = [{ $ref: null, value: user }];
    const joined = await directory.patch(path, { op: "Add", path: "members", value: member });
    expect(joined.body.members.map(({ value }: { value: string }) => value)).toEqual([user]);
    const found = await query("/Groups", {
      excludedAttributes: "members",
      filter: `id eq "${group}" and members eq "${user}"`,
    });
    expect(found.body.totalResults).toBe(1);
    const left = await directory.patch(path, { op: "Remove", path: "members", value: member });
    expect([left.status, left.body.members ?? []]).toEqual([200, []]);
    expect((await directory.call("DELETE", path)).status).toBe(204);
  });

  test("Entra deletes the user, who is not found any more", async () => {
    expect((await directory.call("DELETE", `/Users/${user}`)).status).toBe(204);
    expect((await directory.call("GET", `/Users/${user}`)).status).toBe(404);
    const found = await query("/Users", { filter: `externalId eq "${external}"` });
    expect(found.body.totalResults).toBe(0);
  });
});
