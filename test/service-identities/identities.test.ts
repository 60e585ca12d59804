import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member, outcome } from "../support/people.ts";

let app: TestApp;
let token: string;
let org: string;
beforeAll(async () => {
  app = await startApp();
  token = await app.login();
  org = (await app.call("GET", "/api/auth/me", { token })).body.org_uuid;
});
afterAll(() => app.close());

const path = (...rest: string[]) => [`/api/organizations/${org}/service-identities`, ...rest].join("/");
const create = (body: unknown, by = token) => app.call("POST", path(), { token: by, body });
let names = 0;
const identity = async (roleId = 1): Promise<string> =>
  (await create({ name: `identity ${++names}`, role_id: roleId })).body.identity_id as string;

test("a service identity is created, listed, read, changed and deleted", async () => {
  const made = await create({ name: "deployer", description: "CI", role_id: 2 });
  expect(made).toMatchObject({
    status: 201,
    body: { name: "deployer", description: "CI", role_id: 2, last_auth_at: null, svid_count: 0 },
  });
  const { identity_id: id } = made.body as { identity_id: string };
  expect((await app.call("GET", path(), { token })).body).toMatchObject({
    data: [{ identity_id: id, name: "deployer", role_id: 2, svid_count: 0 }],
    total: 1,
    limit: 50,
    offset: 0,
  });
  expect(await app.call("GET", path(id), { token })).toMatchObject({
    status: 200,
    body: { identity_id: id, svids: [], svid_count: 0 },
  });
  expect(await app.call("PATCH", path(id), { token, body: { role_id: 3 } })).toMatchObject({
    status: 200,
    body: { name: "deployer", description: "CI", role_id: 3 },
  });
  expect(await app.call("DELETE", path(id), { token })).toMatchObject({ status: 204, text: "" });
  for (const [method, body] of [["GET"], ["PATCH", { name: "x" }], ["DELETE"]] as const)
    expect(await app.call(method, path(id), { token, ...(body && { body }) })).toMatchObject({
      status: 404,
      body: { code: "not_found" },
    });
  expect((await app.call("GET", path(), { token })).body).toMatchObject({ data: [], total: 0 });
  expect((await create({ name: "deployer", role_id: 1 })).status).toBe(201);
});

test("names of living service identities are unique in their organization and compared exactly", async () => {
  expect((await create({ name: "robot", role_id: 3 })).status).toBe(201);
  expect(await create({ name: "robot", role_id: 3 })).toMatchObject({ status: 409, body: { code: "name_taken" } });
  const other = await create({ name: "Robot", role_id: 3 });
  expect(other.status).toBe(201);
  const rename = (name: string) => app.call("PATCH", path(other.body.identity_id as string), { token, body: { name } });
  expect(await rename("robot")).toMatchObject({ status: 409, body: { code: "name_taken" } });
  expect((await rename("Robot")).status).toBe(200);
  const foreign = await founder(app, "Elsewhere");
  expect(
    await app.call("POST", `/api/organizations/${foreign.org}/service-identities`, {
      token: foreign.token,
      body: { name: "robot", role_id: 3 },
    }),
  ).toMatchObject({ status: 201 });
  const raced = await Promise.all(Array.from({ length: 12 }, () => create({ name: "raced", role_id: 3 })));
  expect(raced.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 11 }, () => 409)]);
});

test("two service identities renamed to one name at the same time do not both get it", async () => {
  const ids = await Promise.all(Array.from({ length: 6 }, () => identity(3)));
  const answers = await Promise.all(
    ids.map((id) => app.call("PATCH", path(id), { token, body: { name: "the one name" } })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
});

test("of two people who rename service identities to one name at the same time, one gets 409 name_taken", async () => {
  const ada = await founder(app, "Renamers");
  const ben = await member(app, ada, 1);
  const identities = `/api/organizations/${ada.org}/service-identities`;
  const made = await Promise.all(
    ["first", "second"].map((name) => app.call("POST", identities, { token: ada.token, body: { name, role_id: 3 } })),
  );
  const [first, second] = made.map(({ body }) => `${identities}/${body.identity_id as string}`);
  for (let round = 0; round < 12; round++) {
    const body = { name: `name ${round}` };
    const answers = await Promise.all([
      app.call("PATCH", first ?? "", { token: ada.token, body }),
      app.call("PATCH", second ?? "", { token: ben.token, body }),
    ]);
    expect(answers.map(outcome).sort()).toEqual(["200", "409 name_taken"]);
  }
});

test("a role that the organization does not have returns 400 invalid_role", async () => {
  const id = await identity();
  for (const roleId of [99, 4_294_967_295, 0])
    for (const answer of [
      await create({ name: `role ${roleId}`, role_id: roleId }),
      await app.call("PATCH", path(id), { token, body: { role_id: roleId } }),
    ])
      expect(answer).toMatchObject({ status: 400, body: { code: "invalid_role" } });
  const foreign = await founder(app, "Role owner");
  const role = await app.call("POST", "/api/v2/products/p1/roles", {
    token: foreign.token,
    body: { name: "theirs", permissions: [] },
  });
  expect(await create({ name: "foreign role", role_id: role.body.data.id as number })).toMatchObject({
    status: 400,
    body: { code: "invalid_role" },
  });
});

test("bad input to service identities returns 400 with its fields", async () => {
  for (const [body, field] of [
    [{ role_id: 1 }, "name"],
    [{ name: "", role_id: 1 }, "name"],
    [{ name: "n".repeat(129), role_id: 1 }, "name"],
    [{ name: "no role" }, "role_id"],
    [{ name: "text role", role_id: "one" }, "role_id"],
    [{ name: "negative", role_id: -1 }, "role_id"],
    [{ name: "long", role_id: 1, description: "d".repeat(1_025) }, "description"],
  ] as const)
    expect(await create(body)).toMatchObject({
      status: 400,
      body: { code: "validation_error", errors: [{ field }] },
    });
  expect((await create({ name: "n".repeat(128), role_id: 1 })).status).toBe(201);
  expect((await create({ name: "a\u0000b", role_id: 1 })).status).toBe(400);
  expect(await app.call("GET", path("not-a-uuid"), { token })).toMatchObject({
    status: 400,
    body: { code: "invalid_uuid" },
  });
});

test("a key gives a service identity no role beyond its own scopes", async () => {
  const key = async (scopes: string[]): Promise<string> =>
    (await app.call("POST", `/api/admin/organizations/${org}/api-keys`, { token, body: { name: "k", scopes } })).body
      .api_key as string;
  const narrow = await key(["read:identities", "write:identities"]);
  const wide = await key(["admin"]);
  const full = await key(["admin", "vault:write"]);
  const admin = await identity(1);
  const observer = await identity(4);
  for (const answer of [
    await create({ name: "by narrow", role_id: 4 }, narrow),
    await create({ name: "by wide", role_id: 1 }, wide),
    await app.call("PATCH", path(observer), { token: wide, body: { role_id: 1 } }),
    await app.call("POST", path("automation-token"), { token: wide, body: { name: "t", identity_id: admin } }),
  ])
    expect(answer).toMatchObject({ status: 403, body: { code: "forbidden" } });
  expect((await create({ name: "employee", role_id: 3 }, wide)).status).toBe(201);
  expect((await create({ name: "administrator", role_id: 1 }, full)).status).toBe(201);
  expect((await app.call("PATCH", path(admin), { token: narrow, body: { description: "renamed" } })).status).toBe(200);
});

test("an automation token is shown once, listed without its value, and revoked once", async () => {
  const id = await identity(3);
  const made = await app.call("POST", path("automation-token"), {
    token,
    body: { name: "nightly", identity_id: id, expires_in: 60 },
  });
  expect(made).toMatchObject({ status: 201, body: { name: "nightly" } });
  expect(made.headers.get("cache-control")).toBe("no-store");
  expect(made.body.token).toMatch(/^aut_dev_[0-9a-f-]{36}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
  expect(Date.parse(made.body.expires_at as string) - app.clock.now()).toBe(60_000);
  const listed = await app.call("GET", `${path("automation-tokens")}?identity_id=${id}`, { token });
  expect(listed.body).toMatchObject({
    data: [{ token_id: made.body.token_id, identity_id: id, status: "active", last_used_at: null }],
    total: 1,
  });
  expect(listed.text).not.toContain((made.body.token as string).slice(45, 80));
  const one = path("automation-tokens", made.body.token_id as string);
  expect(await app.call("DELETE", one, { token })).toMatchObject({ status: 204, text: "" });
  expect(await app.call("DELETE", one, { token })).toMatchObject({ status: 404, body: { code: "not_found" } });
  expect((await app.call("GET", `${path("automation-tokens")}?identity_id=${id}`, { token })).body.data[0].status).toBe(
    "revoked",
  );
  const defaulted = await app.call("POST", path("automation-token"), { token, body: { name: "x", identity_id: id } });
  expect(Date.parse(defaulted.body.expires_at as string) - app.clock.now()).toBe(3_600_000);
  for (const expiresIn of [0, 7_776_001])
    expect(
      await app.call("POST", path("automation-token"), {
        token,
        body: { name: "x", identity_id: id, expires_in: expiresIn },
      }),
    ).toMatchObject({ status: 400, body: { code: "validation_error" } });
  const unknown = { name: "x", identity_id: "00000000-0000-4000-8000-000000000000" };
  expect(await app.call("POST", path("automation-token"), { token, body: unknown })).toMatchObject({
    status: 404,
    body: { code: "not_found" },
  });
});
