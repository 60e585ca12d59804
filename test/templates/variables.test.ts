import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
let employee: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
  employee = await member(app, owner);
});
afterAll(() => app.close());

const VARIABLES = "/api/ops/custom-variables";
const add = (body: unknown, token = owner.token) => app.call("POST", VARIABLES, { token, body });
const put = (id: number, body: unknown, token = owner.token) => app.call("PUT", `${VARIABLES}/${id}`, { token, body });
const list = async (token: string, query = "") => (await app.call("GET", `${VARIABLES}${query}`, { token })).body;

test("variables are unique per scope and owner, and each person sees the global ones and their own", async () => {
  const made = await add({ key: "city", value: "Bern", scope: "global" });
  expect(made).toMatchObject({
    status: 201,
    body: { data: { id: expect.any(Number), key: "city", value: "Bern", scope: "global" } },
  });
  expect(await add({ key: "city", value: "Basel" })).toMatchObject({ status: 409, body: { code: "variable_exists" } });
  expect((await add({ key: "city", value: "Genf", scope: "user" }, employee.token)).status).toBe(201);
  expect((await add({ key: "city", value: "Chur", scope: "user" })).status).toBe(201);
  const seen = await list(employee.token);
  expect(seen).toMatchObject({ total: 2, limit: 50, offset: 0 });
  expect(seen.data.map(({ value, scope }: { value: string; scope: string }) => [value, scope])).toEqual([
    ["Bern", "global"],
    ["Genf", "user"],
  ]);
  expect((await list(employee.token, "?scope=user")).data).toMatchObject([{ value: "Genf" }]);
  expect((await list(employee.token, "?scope=global&limit=1")).data).toMatchObject([{ value: "Bern" }]);
  expect((await list((await founder(app)).token)).data).toEqual([]);
});

test("concurrent creations of one key store one variable", async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, (_, nth) => add({ key: "raced", value: String(nth) })));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(19).fill(409)]);
});

test("only admins change global variables; another person's own is unknown to anybody else", async () => {
  const { id } = (await add({ key: "shared", value: "1" })).body.data;
  const mine = (await add({ key: "private", value: "1", scope: "user" }, employee.token)).body.data.id;
  expect((await add({ key: "x", value: "1" }, employee.token)).status).toBe(403);
  expect((await put(id, { value: "2" }, employee.token)).status).toBe(403);
  expect((await app.call("DELETE", `${VARIABLES}/${id}`, { token: employee.token })).status).toBe(403);
  for (const answer of [
    await put(mine, { value: "2" }),
    await app.call("DELETE", `${VARIABLES}/${mine}`, { token: owner.token }),
    await put(999_999, { value: "2" }),
  ])
    expect(answer).toMatchObject({ status: 404, body: { code: "not_found" } });
  expect(await put(mine, { value: "" }, employee.token)).toMatchObject({
    status: 200,
    body: { id: mine, key: "private", value: "", scope: "user" },
  });
});

test("a variable keeps its key unless a new one is given, which must be free in its scope", async () => {
  const { id } = (await add({ key: "first", value: "1" })).body.data;
  await add({ key: "second", value: "1" });
  expect((await put(id, { value: "2" })).body).toMatchObject({ key: "first", value: "2" });
  expect((await put(id, { key: "third", value: "3" })).body).toMatchObject({ key: "third", value: "3" });
  expect(await put(id, { key: "second", value: "4" })).toMatchObject({
    status: 409,
    body: { code: "variable_exists" },
  });
  const mine = (await add({ key: "mine", value: "1", scope: "user" }, employee.token)).body.data.id;
  expect(await put(mine, { key: "second", value: "2" }, employee.token)).toMatchObject({
    status: 200,
    body: { key: "second", scope: "user" },
  });
  expect((await app.call("DELETE", `${VARIABLES}/${id}`, { token: owner.token })).status).toBe(204);
  expect((await app.call("DELETE", `${VARIABLES}/${id}`, { token: owner.token })).status).toBe(404);
});

test("bad keys, values and scopes return 400 naming the field", async () => {
  for (const [body, field] of [
    [{ key: "1a", value: "x" }, "key"],
    [{ key: "a b", value: "x" }, "key"],
    [{ key: "x".repeat(65), value: "x" }, "key"],
    [{ key: "a" }, "value"],
    [{ key: "a", value: "x".repeat(262_145) }, "value"],
    [{ key: "a", value: "x", scope: "team" }, "scope"],
  ] as const)
    expect(await add(body)).toMatchObject({ status: 400, body: { code: "validation_error", errors: [{ field }] } });
});

test("an API key changes global variables by its scopes, and has none of its own", async () => {
  const scopes = ["read:templates", "write:templates"];
  const { body } = await app.call("POST", `/api/admin/organizations/${owner.org}/api-keys`, {
    token: owner.token,
    body: { name: "ci", scopes },
  });
  expect((await add({ key: "by_key", value: "x" }, body.api_key)).status).toBe(201);
  expect((await add({ key: "by_key", value: "x", scope: "user" }, body.api_key)).status).toBe(403);
  expect((await list(body.api_key, "?scope=user")).data).toEqual([]);
});

test("variables of more than 10 MiB together return 413, also where the text has none of them", async () => {
  const large = await founder(app);
  const keys = Array.from({ length: 41 }, (_, nth) => `v${nth}`);
  const value = "x".repeat(262_144);
  for (const key of keys) expect((await add({ key, value, scope: "global" }, large.token)).status).toBe(201);
  const rendered = async (names: readonly string[]) => {
    const body = `${names.map((name) => `<i title="{{${name}}}"></i>`).join("")}end`;
    const made = await app.call("POST", "/api/templates", {
      token: large.token,
      body: { name: "Large", category: "report", body },
    });
    const wish = { template_id: made.body.id, format: "text" };
    return app.call("POST", "/api/templates/render", { token: large.token, body: wish });
  };
  expect(await rendered(keys)).toMatchObject({ status: 413, body: { code: "payload_too_large" } });
  expect(await rendered(keys.slice(1))).toMatchObject({ status: 200, body: { text: "end" } });
});
