import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { directoryOf, PATCH_URN, refusal } from "./support.ts";
import type { Directory } from "./support.ts";

let app: TestApp;
let owner: Somebody;
let directory: Directory;
beforeAll(async () => {
  app = await startApp();
  owner = await founder(app);
  directory = await directoryOf(app, owner);
});
afterAll(() => app.close());

/** Users of the directory that is synchronized twice. `SCIM_SYNC=100000` tries a large one. */
const SYNC_USERS = Number(process.env["SCIM_SYNC"] ?? 1_500);

let made = 0;
const newUser = (bulkId: string, more: object = {}) => ({
  method: "POST",
  path: "/Users",
  bulkId,
  data: { userName: `bulk${++made}@scim.test`, ...more },
});
const bulk = (Operations: unknown, more: object = {}, headers?: Record<string, string>) =>
  directory.call(
    "POST",
    "/Bulk",
    { schemas: ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"], Operations, ...more },
    headers,
  );
const manager = (value: string) => ({
  "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": { manager: { value } },
});
const statuses = (body: { Operations: { status: string }[] }) => body.Operations.map(({ status }) => status);
const total = async () => (await directory.call("GET", "/Users?count=0")).body.totalResults as number;

test("a page has 100 users unless count asks for another number, and at most 200", async () => {
  expect((await bulk(Array.from({ length: 201 }, (_, at) => newUser(`page${at}`)))).status).toBe(200);
  for (const [query, most] of [
    ["", 100],
    ["?count=150", 150],
    ["?count=201", 200],
    ["?count=100000", 200],
  ] as const) {
    const { body } = await directory.call("GET", `/Users${query}`);
    expect([body.itemsPerPage, body.Resources.length], query).toEqual([most, most]);
  }
});

test("Bulk creates, references forward, replaces, changes and deletes", async () => {
  const { body, status, headers } = await bulk([
    { method: "POST", path: "/Groups", bulkId: "g", data: { displayName: "Bulk", members: [{ value: "bulkId:b" }] } },
    newUser("a"),
    newUser("b"),
    {
      method: "PATCH",
      path: "/Users/bulkId:a",
      data: { schemas: [PATCH_URN], Operations: [{ op: "add", path: "title", value: "T" }] },
    },
    { method: "DELETE", path: "/Groups/bulkId:g" },
    { method: "PUT", path: "/Users/bulkId:b", data: { userName: "put@scim.test" } },
  ]);
  expect([status, headers.get("content-type")]).toEqual([200, "application/scim+json"]);
  expect(statuses(body)).toEqual(["201", "201", "201", "200", "204", "200"]);
  const [group, a, b] = body.Operations;
  expect(group).toMatchObject({
    method: "POST",
    bulkId: "g",
    version: 'W/"1"',
    location: expect.stringContaining("/Groups/"),
  });
  const user = (await app.call("GET", new URL(a.location).pathname, { token: directory.token })).body;
  expect(user).toMatchObject({ title: "T", active: true });
  const other = (await app.call("GET", new URL(b.location).pathname, { token: directory.token })).body;
  expect(other).toMatchObject({ userName: "put@scim.test" });
});

test("an operation that fails has its error object, and leaves the others", async () => {
  const user = await directory.user({ userName: "taken@scim.test" });
  const { body } = await bulk([
    newUser("a", { userName: "Taken@scim.test" }),
    newUser("b"),
    { method: "PUT", path: `/Users/${user.id}`, version: 'W/"7"', data: { userName: "x@scim.test" } },
    { method: "DELETE", path: `/Users/${owner.userUuid}` },
    { method: "POST", path: "/Groups", bulkId: "g", data: { displayName: "G", members: [{ value: "bulkId:a" }] } },
    { method: "POST", path: "/Users", data: {} },
    { method: "GET", path: "/Users" },
    { method: "PATCH", path: "/Nothing/1", data: {} },
    7,
  ]);
  expect(statuses(body)).toEqual(["409", "201", "412", "409", "409", "400", "400", "400", "400"]);
  expect(body.Operations[0].response).toMatchObject({ status: "409", scimType: "uniqueness", code: "conflict" });
  expect(body.Operations[0].location).toBeUndefined();
  expect(body.Operations[2].location).toContain(`/Users/${user.id}`);
});

test("users created together are refused, recorded and announced one by one", async () => {
  await directory.user({ userName: "name@scim.test", emails: [{ value: "other@scim.test" }] });
  const events = async (type: string) => {
    const path = `/api/organizations/${owner.org}/audit-events?limit=1&type=${type}`;
    return (await app.call("GET", path, { token: owner.token })).body.total as number;
  };
  const hook = await app.call("POST", "/api/v2/webhooks", {
    token: owner.token,
    body: { url: "https://example.com/hook", events: ["user.created"] },
  });
  expect(hook.status).toBe(201);
  const [members, created] = [await total(), await events("scim.user.created")];

  // One at a time: each refusal makes the whole batch start again, and must leave nothing of it behind.
  const good = () => [newUser("a"), newUser("b", { active: true }), newUser("c")];
  const mail = { emails: [{ value: "twice@scim.test" }] };
  const { body } = await bulk([...good(), newUser("d", mail), newUser("e", mail), newUser("f", { active: false })]);
  expect(statuses(body)).toEqual(["201", "201", "201", "201", "409", "201"]);
  for (const refused of [
    newUser("x", { userName: "Name@scim.test", emails: [{ value: "free@scim.test" }] }),
    newUser("x", { emails: [{ value: "OTHER@scim.test" }] }),
    newUser("x", { userName: "no address" }),
    newUser("x", { active: "maybe" }),
  ]) {
    const answer = await bulk([newUser("a"), refused, newUser("b")]);
    expect(statuses(answer.body)).toEqual(["201", expect.stringMatching(/^4/u), "201"]);
  }
  expect(await total()).toBe(members + 13);
  expect(await events("scim.user.created")).toBe(created + 13);
  const deliveries = await app.call("GET", `/api/v2/webhooks/${hook.body.webhook_id}/deliveries?limit=100`, {
    token: owner.token,
  });
  expect(deliveries.body.data).toHaveLength(13);
  const shown = (await app.call("GET", new URL(body.Operations[5].location).pathname, { token: directory.token })).body;
  expect(shown.active).toBe(false);
});

test("texts that begin like a reference are kept, but for ids of members and managers", async () => {
  const text = "bulkId:nobody";
  const patched = { schemas: [PATCH_URN], Operations: [{ op: "replace", path: "nickName", value: text }] };
  const joined = {
    schemas: [PATCH_URN],
    Operations: [{ op: "add", path: "members", value: [{ value: "bulkId:kept" }] }],
  };
  const { body } = await bulk([
    newUser("kept", { title: text, name: { givenName: text }, emails: [{ value: "kept@scim.test", display: text }] }),
    { method: "PATCH", path: "/Users/bulkId:kept", data: patched },
    { method: "POST", path: "/Groups", bulkId: "group", data: { displayName: text } },
    { method: "PATCH", path: "/Groups/bulkId:group", data: joined },
    newUser("report", manager("bulkId:kept")),
    {
      method: "PATCH",
      path: "/Users/bulkId:report",
      data: { Operations: [{ op: "replace", value: { title: text } }] },
    },
  ]);
  expect(statuses(body)).toEqual(["201", "200", "201", "200", "201", "200"]);
  const at = (n: number) => app.call("GET", new URL(body.Operations[n].location).pathname, { token: directory.token });
  const kept = (await at(0)).body;
  expect(kept).toMatchObject({ title: text, nickName: text, name: { givenName: text } });
  expect((await at(2)).body).toMatchObject({ displayName: text, members: [{ value: kept.id }] });
  expect((await at(4)).body).toMatchObject({ title: text, ...manager(kept.id) });
});

test("references in a circle, to nothing, or to a bulkId that is there twice return 409", async () => {
  const { body } = await bulk([
    newUser("a", manager("bulkId:b")),
    newUser("b", manager("bulkId:a")),
    newUser("c", manager("bulkId:x")),
    newUser("d"),
    newUser("d"),
  ]);
  expect(statuses(body).sort()).toEqual(["201", "409", "409", "409", "409"]);
});

test("failOnErrors stops after so many errors, and 1,001 operations or 1 MiB and a byte are refused", async () => {
  const bad = { method: "DELETE", path: "/Users/none" };
  const before = await total();
  const { body } = await bulk([newUser("a"), bad, newUser("b"), bad, newUser("c")], { failOnErrors: 2 });
  expect(statuses(body)).toEqual(["201", "404", "201", "404"]);
  expect(await total()).toBe(before + 2);
  for (const failOnErrors of [0, -1, 1.5, "2"])
    expect(refusal(await bulk([], { failOnErrors }))).toBe("400 invalidValue validation_error");
  expect(refusal(await bulk("x"))).toBe("400 invalidSyntax validation_error");
  expect(refusal(await bulk(Array.from({ length: 1_001 }, () => bad)))).toBe("413 tooMany payload_too_large");
  expect(refusal(await bulk([], { padding: "x".repeat(1_048_576) }))).toBe("413 payload_too_large");
  expect(await total()).toBe(before + 2);
});

test("a Bulk request of 1 MiB is carried out, and one of a byte more returns 413 and does nothing", async () => {
  const send = (length: number) => {
    const [begin, end] = [`{"Operations":${JSON.stringify([newUser("a")])},"padding":"`, '"}'];
    const body = `${begin}${"x".repeat(length - begin.length - end.length)}${end}`;
    return app.call("POST", `${directory.base}/Bulk`, {
      token: directory.token,
      body,
      headers: { "content-type": "application/scim+json" },
    });
  };
  const before = await total();
  const whole = await send(1_048_576);
  expect([whole.status, statuses(whole.body)]).toEqual([200, ["201"]]);
  expect(refusal(await send(1_048_577))).toBe("413 payload_too_large");
  expect(await total()).toBe(before + 1);
});

test("a sync of a whole directory, run twice, changes nothing the second time", { timeout: 3_600_000 }, async () => {
  const create = (n: number) => newUser(`u${n}`, { title: `T${n}` });
  const versions = (body: { Operations: { version: string }[] }) => body.Operations.map(({ version }) => version);
  const syncs: { operations: object[]; versions: string[] }[] = [];
  for (let start = 0; start < SYNC_USERS; start += 1_000) {
    const operations = Array.from({ length: Math.min(1_000, SYNC_USERS - start) }, (_, n) => create(start + n));
    const { body } = await bulk(operations);
    expect(new Set(statuses(body))).toEqual(new Set(["201"]));
    const located = body.Operations.map(({ location }: { location: string }, n: number) => ({
      method: "PUT",
      path: `/Users/${location.split("/").at(-1)}`,
      data: operations[n]?.data,
    }));
    syncs.push({ operations: located, versions: versions(body) });
  }
  const events = async () => {
    const { body } = await app.call("GET", `/api/organizations/${owner.org}/audit-events?limit=1`, {
      token: owner.token,
    });
    return body.total as number;
  };
  const before = await events();
  for (const sync of syncs) {
    const { body } = await bulk(sync.operations);
    expect(new Set(statuses(body))).toEqual(new Set(["200"]));
    expect(versions(body)).toEqual(sync.versions);
  }
  expect(await events()).toBe(before);
});

test("Bulk with an Idempotency-Key is carried out once", async () => {
  const operations = [newUser("a"), newUser("b")];
  const before = await total();
  const first = await bulk(operations, {}, { "idempotency-key": "bulk-1" });
  const again = await bulk(operations, {}, { "idempotency-key": "bulk-1" });
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(await total()).toBe(before + 2);
});

test("/Me is 501, by any method", async () => {
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"])
    expect(refusal(await directory.call(method, "/Me", method === "GET" ? undefined : {}))).toBe("501 unimplemented");
});
