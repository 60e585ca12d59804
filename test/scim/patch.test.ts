import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { directoryOf, ENTERPRISE_URN, PATCH_URN, refusal } from "./support.ts";
import type { Directory } from "./support.ts";

let app: TestApp;
let owner: Somebody;
let directory: Directory;
let id: string;
let made = 0;
beforeAll(async () => {
  app = await startApp();
  owner = await founder(app);
  directory = await directoryOf(app, owner);
});
afterAll(() => app.close());
beforeEach(async () => {
  const address = `patch${++made}@scim.test`;
  const user = await directory.user({
    userName: address,
    name: { givenName: "Ada", familyName: "Byron" },
    title: "Countess",
    emails: [
      { value: address, type: "work", primary: true },
      { value: "ada@home.test", type: "home" },
    ],
    [ENTERPRISE_URN]: { department: "D1", manager: { value: "m1", $ref: "../Users/m1", displayName: "ignored" } },
  });
  id = user.id;
});

const user = async () => (await directory.call("GET", `/Users/${id}`)).body;
const patch = (...operations: object[]) => directory.patch(`/Users/${id}`, ...operations);

describe("a PATCH", () => {
  test.each<[string, object[], Record<string, unknown>]>([
    ["add without a path", [{ op: "add", value: { nickName: "A", title: "T" } }], { nickName: "A", title: "T" }],
    ["replace of an attribute", [{ op: "replace", path: "title", value: "T" }], { title: "T" }],
    ["remove of an attribute", [{ op: "remove", path: "TITLE" }], { title: undefined }],
    [
      "replace of a part",
      [{ op: "replace", path: "name.familyName", value: "King" }],
      { name: { givenName: "Ada", familyName: "King" } },
    ],
    [
      "replace of a complex attribute keeps the parts it does not name",
      [{ op: "replace", path: "name", value: { familyName: "King" } }],
      { name: { givenName: "Ada", familyName: "King" } },
    ],
    ["remove of a part", [{ op: "remove", path: "name.givenName" }], { name: { familyName: "Byron" } }],
    ["remove of both parts", [{ op: "remove", path: "name" }], { name: undefined }],
    [
      "add of a value",
      [{ op: "add", path: "phoneNumbers", value: [{ value: "1", type: "work" }] }],
      { phoneNumbers: [{ value: "1", type: "work" }] },
    ],
    ["a value that is there", [{ op: "add", path: "emails", value: [{ value: "ada@home.test", type: "home" }] }], {}],
    [
      "replace of all values",
      [{ op: "replace", path: "emails", value: [{ value: "only@scim.test" }] }],
      { emails: [{ value: "only@scim.test" }] },
    ],
    [
      "the URN of an extension",
      [{ op: "replace", path: ENTERPRISE_URN, value: { department: "D2" } }],
      { [ENTERPRISE_URN]: { department: "D2", manager: { value: "m1", $ref: "../Users/m1" } } },
    ],
    [
      "a part of an extension",
      [{ op: "remove", path: `${ENTERPRISE_URN}:manager.$ref` }],
      { [ENTERPRISE_URN]: { department: "D1", manager: { value: "m1" } } },
    ],
    [
      "an attribute of an extension without its URN",
      [
        { op: "replace", path: "department", value: "D2" },
        { op: "remove", path: "Manager" },
      ],
      { [ENTERPRISE_URN]: { department: "D2" } },
    ],
    [
      "remove of an extension, attribute by attribute",
      [
        { op: "remove", path: `${ENTERPRISE_URN}:manager` },
        { op: "remove", path: `${ENTERPRISE_URN}:department` },
      ],
      { [ENTERPRISE_URN]: undefined },
    ],
  ])("%s", async (_name, operations, expected) => {
    const before = await user();
    const answer = await patch(...operations);
    expect(answer.status, answer.text).toBe(200);
    const { meta: _meta, schemas: _schemas, ...was } = before;
    const { meta: _now, schemas: _urns, ...is } = answer.body;
    const wanted = Object.fromEntries(
      Object.entries({ ...was, ...expected }).filter(([, value]) => value !== undefined),
    );
    expect(is).toEqual(wanted);
    expect(await user()).toEqual(answer.body);
  });

  test("a filter selects the values that change", async () => {
    const work = { type: "work", primary: true };
    await patch({ op: "replace", path: 'emails[type eq "home"].value', value: "new@home.test" });
    expect((await user()).emails).toMatchObject([work, { type: "home", value: "new@home.test" }]);
    await patch({ op: "add", path: 'emails[type eq "home"]', value: { display: "Home" } });
    expect((await user()).emails[1]).toEqual({ type: "home", value: "new@home.test", display: "Home" });
    await patch({ op: "replace", path: 'emails[type eq "home"]', value: { value: "other@home.test", primary: true } });
    expect((await user()).emails).toMatchObject([
      { ...work, primary: false },
      { value: "other@home.test", primary: true },
    ]);
    await patch({ op: "remove", path: 'emails[type eq "work"]' });
    expect((await user()).emails).toEqual([{ value: "other@home.test", primary: true }]);
  });

  test.each<[string, object, string]>([
    ["an unknown path", { op: "replace", path: "nosuch", value: 1 }, "400 invalidPath validation_error"],
    ["an unknown part", { op: "replace", path: "name.nosuch", value: 1 }, "400 invalidPath validation_error"],
    ["a path that is none", { op: "replace", path: "emails[type", value: 1 }, "400 invalidPath validation_error"],
    [
      "a filter of one value",
      { op: "replace", path: 'name[givenName eq "a"]', value: 1 },
      "400 invalidPath validation_error",
    ],
    ["a read-only path", { op: "replace", path: "id", value: "1" }, "400 mutability validation_error"],
    ["the groups of a user", { op: "add", path: "groups", value: [] }, "400 mutability validation_error"],
    [
      "the name of a manager",
      { op: "replace", path: `${ENTERPRISE_URN}:manager.displayName`, value: "M" },
      "400 mutability validation_error",
    ],
    ["a part of meta", { op: "replace", path: "meta.created", value: "" }, "400 mutability validation_error"],
    ["removal of userName", { op: "remove", path: "userName" }, "400 mutability validation_error"],
    ["an empty userName", { op: "replace", path: "userName", value: "" }, "400 invalidValue validation_error"],
    ["remove without a path", { op: "remove" }, "400 noTarget validation_error"],
    ["no match", { op: "replace", path: 'emails[type eq "x"].value', value: "a" }, "400 noTarget validation_error"],
    ["no value", { op: "add", path: "title" }, "400 invalidValue validation_error"],
    ["a wrong value", { op: "replace", path: "active", value: "maybe" }, "400 invalidValue validation_error"],
    ["a wrong kind", { op: "replace", path: "title", value: { a: 1 } }, "400 invalidValue validation_error"],
    [
      "two primary values",
      {
        op: "add",
        path: "ims",
        value: [
          { value: "1", primary: true },
          { value: "2", primary: true },
        ],
      },
      "400 invalidValue validation_error",
    ],
    ["another verb", { op: "move", path: "title", value: "a" }, "400 invalidSyntax validation_error"],
  ])("%s is refused, and nothing changes", async (_name, operation, expected) => {
    const before = await user();
    expect(refusal(await patch({ op: "replace", path: "title", value: "changed" }, operation))).toBe(expected);
    expect(await user()).toEqual(before);
  });

  test("a body without operations, or with 1,001, is refused", async () => {
    const call = (body: unknown) => directory.call("PATCH", `/Users/${id}`, body);
    for (const body of [{ schemas: [PATCH_URN] }, { schemas: [PATCH_URN], Operations: [] }, { Operations: {} }, {}])
      expect(refusal(await call(body))).toBe("400 invalidSyntax validation_error");
    const many = Array.from({ length: 1_001 }, () => ({ op: "replace", path: "title", value: "x" }));
    expect(refusal(await patch(...many))).toBe("413 tooMany payload_too_large");
    expect((await patch(...many.slice(1))).body.title).toBe("x");
  });

  test("the same PATCH again keeps the ETag, and records no event", async () => {
    const operation = { op: "replace", path: "title", value: "Again" };
    const first = await patch(operation);
    const events = (await auditOf(app, owner, "scim.user.updated")).length;
    const second = await patch(operation);
    expect(second.headers.get("etag")).toBe(first.headers.get("etag"));
    expect(second.body).toEqual(first.body);
    expect((await auditOf(app, owner, "scim.user.updated")).length).toBe(events);
  });
});

describe("the dialects of Okta and Entra", () => {
  test("a bare object of attributes is a replacement", async () => {
    expect((await directory.call("PATCH", `/Users/${id}`, { active: false })).body.active).toBe(false);
    expect((await directory.call("PATCH", `/Users/${id}`, { active: true })).body.active).toBe(true);
  });

  test("op in any case, True and False as strings, dotted and URN names in value objects", async () => {
    const answer = await patch(
      { op: "Replace", path: "active", value: "False" },
      {
        op: "Add",
        value: {
          "name.givenName": "Augusta",
          [`${ENTERPRISE_URN}:department`]: "D9",
          [`${ENTERPRISE_URN}:manager`]: "m2",
          'emails[type eq "home"].value': "dotted@home.test",
          id: "ignored",
          "meta.created": "ignored",
          nosuch: "ignored",
        },
      },
    );
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({
      id,
      active: false,
      name: { givenName: "Augusta", familyName: "Byron" },
      [ENTERPRISE_URN]: { department: "D9", manager: { value: "m2", $ref: "../Users/m1" } },
      emails: [{ type: "work" }, { type: "home", value: "dotted@home.test" }],
    });
  });

  test("add to a filter that matches nothing creates the value", async () => {
    const answer = await patch({ op: "Add", path: 'phoneNumbers[type eq "mobile"].value', value: "555" });
    expect(answer.body.phoneNumbers).toEqual([{ type: "mobile", value: "555" }]);
  });

  test("add to a filter that matches nothing creates booleans from their text", async () => {
    const path = 'phoneNumbers[primary eq "True" and type eq "work"].value';
    const answer = await patch({ op: "Add", path, value: "556" });
    expect(answer.body.phoneNumbers).toEqual([{ primary: true, type: "work", value: "556" }]);
    const found = await directory.call("GET", `/Users?filter=${encodeURIComponent("phoneNumbers[primary eq true]")}`);
    expect(found.body.Resources.map((one: { id: string }) => one.id)).toContain(id);
  });

  test("remove takes the values it names", async () => {
    const answer = await patch({ op: "Remove", path: "emails", value: [{ value: "ADA@home.test" }] });
    expect(answer.body.emails).toMatchObject([{ type: "work" }]);
  });
});
