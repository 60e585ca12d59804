import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, founder, invite, member, newcomer, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
});
afterAll(() => app.close());

const get = (path: string, by = owner) => app.call("GET", path, { token: by.token });
const add = (body: unknown, by = owner, product = "atrium") =>
  app.call("POST", `/api/v2/products/${product}/roles`, { token: by.token, body });
const replace = (id: number, permissions: unknown, by = owner) =>
  app.call("PUT", `/api/roles/${id}/permissions`, { token: by.token, body: { permissions } });
const names = (answer: { body: { data: { name: string }[] } }) => answer.body.data.map(({ name }) => name);

/** Ids of permissions by name. */
async function ids(...wanted: string[]): Promise<number[]> {
  const { body } = await get("/api/roles/permissions");
  return wanted.map(
    (name) => (body.data as { id: number; name: string }[]).find((permission) => permission.name === name)?.id ?? 0,
  );
}

describe("roles", () => {
  it("both role lists show the five built-in roles and those the organization added", async () => {
    const by = await founder(app);
    const [read, create] = await ids("user:read", "user:create");
    const made = await add({ name: " Auditor ", permissions: [{ id: read }, { id: create }, { id: read }] }, by);
    expect(made.status).toBe(200);
    expect(made.body).toEqual({ data: { id: made.body.data.id, name: "Auditor" } });
    const expected = [
      { id: 1, name: "admin" },
      { id: 2, name: "manager" },
      { id: 3, name: "employee" },
      { id: 4, name: "observer" },
      { id: 5, name: "limited_access" },
      made.body.data,
    ];
    expect((await get("/api/roles", by)).body).toEqual({ data: expected, total: 6, limit: 50, offset: 0 });
    expect((await get(`/api/v2/organizations/${by.org}/products/other-product/roles`, by)).body.data).toEqual(expected);
    expect((await get("/api/roles?limit=1&offset=5", by)).body.data).toEqual([made.body.data]);
    expect(names(await get(`/api/roles/${made.body.data.id}/permissions`, by))).toEqual(["user:read", "user:create"]);
    expect(names(await get("/api/roles"))).toHaveLength(5);
    expect(outcome(await get(`/api/roles/${made.body.data.id}/permissions`))).toBe("404 role_not_found");
    expect(outcome(await replace(made.body.data.id, []))).toBe("404 role_not_found");
    expect((await auditOf(app, by, "role.created"))[0]).toMatchObject({
      resource_id: String(made.body.data.id),
      metadata: { name: "Auditor", permissions: ["user:read", "user:create"] },
    });
  });

  it("role names are unique in an organization without case", async () => {
    const by = await founder(app);
    expect((await add({ name: "Reader" }, by)).status).toBe(200);
    for (const name of ["reader", "READER", "Admin", "limited_access"])
      expect(outcome(await add({ name }, by)), name).toBe("409 role_name_taken");
    expect((await add({ name: "Reader" })).status).toBe(200);
    for (const body of [{}, { name: "" }, { name: "  " }, { name: "x".repeat(101) }, { name: "a\u0000b" }, { name: 7 }])
      expect((await add(body, by)).status, JSON.stringify(body)).toBe(400);
    const many = await Promise.all(Array.from({ length: 8 }, () => add({ name: "Wanted" }, by)));
    expect(many.map(outcome).sort()).toEqual(["200", ...Array<string>(7).fill("409 role_name_taken")]);
  });

  it("an organization adds at most a thousand roles, also by concurrent requests", async () => {
    const by = await founder(app);
    await runSql(
      app.databaseUrl,
      `insert into roles (org_uuid, name, created_at)
       select '${by.org}', 'Role ' || n, now() from generate_series(1, 998) as n`,
    );
    const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => add({ name: `Late ${at}` }, by)));
    expect(answers.map(outcome).sort()).toEqual(["200", "200", ...Array<string>(6).fill("409 conflict")]);
    expect((await get("/api/roles?limit=1", by)).body.total).toBe(1_005);
    expect((await add({ name: "Elsewhere" }, await founder(app))).status).toBe(200);
  });

  it("a role takes permissions of the catalogue alone", async () => {
    const catalogue = await get("/api/roles/permissions");
    expect(names(catalogue)).toContain("user:create");
    expect((await get("/api/v2/products/any.thing-1/permissions")).body).toEqual(catalogue.body);
    expect(outcome(await get("/api/v2/products/bad%20product/permissions"))).toBe("400 validation_error");
    expect(outcome(await add({ name: "Odd", permissions: [{ id: 9999 }] }))).toBe("400 permission_not_found");
    expect(outcome(await add({ name: "Odd", permissions: [{ id: 4_294_967_295 }] }))).toBe("400 permission_not_found");
    expect(outcome(await add({ name: "Odd", permissions: [{}] }))).toBe("400 validation_error");
  });

  it("the name of a product has 1 to 64 characters, on every route", async () => {
    const by = await founder(app);
    for (const [product, expected] of [
      ["Az0._-".padEnd(64, "x"), "200"],
      ["x".repeat(65), "400 validation_error"],
      ["x~", "400 validation_error"],
      ["%C3%A9", "400 validation_error"],
    ] as const) {
      const answers = [
        await get(`/api/v2/products/${product}/permissions`, by),
        await get(`/api/v2/organizations/${by.org}/products/${product}/roles`, by),
        await add({ name: "Of a product" }, by, product),
      ];
      expect(answers.map(outcome), product).toEqual([expected, expected, expected]);
    }
    expect(names(await get(`/api/v2/organizations/${by.org}/products/other/roles`, by))).toContain("Of a product");
  });

  it("the permissions of a role are replaced as a whole", async () => {
    const by = await founder(app);
    const { body } = await add(
      { name: "Changing", permissions: (await ids("user:read", "role:read")).map((id) => ({ id })) },
      by,
    );
    const { id } = body.data as { id: number };
    const replaced = await replace(id, await ids("event:read", "user:read", "event:read"), by);
    expect(names(replaced)).toEqual(["user:read", "event:read"]);
    expect((await get(`/api/roles/${id}/permissions`, by)).body).toEqual(replaced.body);
    expect(outcome(await replace(id, [9999], by))).toBe("400 permission_not_found");
    expect((await get(`/api/roles/${id}/permissions`, by)).body).toEqual(replaced.body);
    expect((await replace(id, [], by)).body).toEqual({ data: [] });
    expect((await auditOf(app, by, "role.updated"))[0]).toMatchObject({
      metadata: { before: ["user:read", "event:read"], after: [] },
    });
  });

  it.each([1, 2, 3, 4, 5])("the built-in role %i never changes", async (id) => {
    const before = (await get(`/api/roles/${id}/permissions`)).body;
    expect(outcome(await replace(id, []))).toBe("409 role_immutable");
    expect((await get(`/api/roles/${id}/permissions`)).body).toEqual(before);
  });

  it.each([
    ["99", "404 role_not_found"],
    ["0", "404 role_not_found"],
    ["4294967295", "404 role_not_found"],
    ["x", "400 validation_error"],
    ["-1", "400 validation_error"],
  ])("the permissions of the role %s are refused", async (id, expected) => {
    expect(outcome(await get(`/api/roles/${id}/permissions`))).toBe(expected);
  });
});

describe("access to roles", () => {
  it("every member reads roles and administrators alone change them", async () => {
    const manager = await member(app, owner, 2);
    expect((await get("/api/roles", manager)).status).toBe(200);
    expect(outcome(await add({ name: "Mine" }, manager))).toBe("403 forbidden");
    expect(outcome(await replace(3, [], manager))).toBe("403 forbidden");
    expect(
      outcome(
        await app.call("PUT", `/api/v2/organizations/${owner.org}/users/${manager.userUuid}/role`, {
          token: manager.token,
          body: { roleId: 1 },
        }),
      ),
    ).toBe("403 forbidden");
    expect(outcome(await app.call("GET", "/api/roles"))).toBe("401 unauthorized");
    const stranger = await founder(app);
    expect(outcome(await get(`/api/v2/organizations/${owner.org}/products/x/roles`, stranger))).toBe("404 not_found");
  });

  it("a platform administrator without the role admin cannot grant access to the vault", async () => {
    const host = await founder(app);
    const { token } = await invite(app, host, app.owner.email, 3);
    const platform = await app.login();
    const { body } = await app.call("POST", "/api/auth/invite/accept", { token: platform, body: { token } });
    const guest = { ...host, token: body.data.access_token as string };
    expect((await app.call("GET", "/api/users", { token: guest.token })).status).toBe(200);
    const other = await member(app, host);
    const assign = (roleId: number) =>
      app.call("PUT", `/api/v2/organizations/${host.org}/users/${other.userUuid}/role`, {
        token: guest.token,
        body: { roleId },
      });
    expect(outcome(await assign(1))).toBe("403 forbidden");
    expect((await assign(2)).body).toEqual({ message: expect.any(String) });
    expect(
      outcome(await add({ name: "Vault", permissions: (await ids("vault:write")).map((id) => ({ id })) }, guest)),
    ).toBe("403 forbidden");
    expect(outcome((await invite(app, guest, "high@people.test", 1)).answer)).toBe("403 forbidden");
    expect(
      (await add({ name: "Vault", permissions: (await ids("vault:write")).map((id) => ({ id })) }, host)).status,
    ).toBe(200);
  });
});

describe("a role of an organization's own", () => {
  it("a role of an organization is assigned on both routes, granted by invitations and named in tokens", async () => {
    const by = await founder(app);
    const { id } = (await add({ name: "Curator", permissions: [] }, by)).body.data as { id: number };
    const [someone, other] = [await member(app, by), await founder(app)];
    const assigned = await app.call("PUT", `/api/v2/organizations/${by.org}/users/${someone.userUuid}/role`, {
      token: by.token,
      body: { roleId: id },
    });
    expect(assigned.status).toBe(200);
    expect((await app.call("GET", "/api/auth/me", { token: someone.token })).status).toBe(401);
    expect((await app.call("GET", `/api/users?email=${someone.email}`, { token: by.token })).body.data).toMatchObject([
      { role: "Curator", role_id: id },
    ]);
    const { token } = await invite(app, by, "curator@people.test", id);
    const { body } = await app.call("POST", "/api/auth/invite/accept", { body: { token, ...newcomer() } });
    expect(body.data.role).toBe("Curator");
    expect((await app.call("GET", "/api/auth/me", { token: body.data.access_token })).body.roles).toEqual(["Curator"]);
    expect(outcome((await invite(app, other, "x@people.test", id)).answer)).toBe("404 role_not_found");
    expect(
      outcome(
        await app.call("PUT", `/api/users/${other.userUuid}/role`, { token: other.token, body: { role: "Curator" } }),
      ),
    ).toBe("404 role_not_found");
    expect(
      outcome(
        await app.call("PUT", `/api/v2/organizations/${by.org}/users/${other.userUuid}/role`, {
          token: by.token,
          body: { roleId: 3 },
        }),
      ),
    ).toBe("404 user_not_found");
    expect(
      outcome(
        await app.call("PUT", `/api/v2/organizations/${by.org}/users/${someone.userUuid}/role`, {
          token: by.token,
          body: { roleId: 99 },
        }),
      ),
    ).toBe("404 role_not_found");
    expect(
      outcome(
        await app.call("PUT", `/api/v2/organizations/${by.org}/users/${someone.userUuid}/role`, {
          token: by.token,
          body: {},
        }),
      ),
    ).toBe("400 validation_error");
  });

  it("a role is found by the name it was added with, however that is written", async () => {
    const by = await founder(app);
    const someone = await member(app, by);
    const decomposed = "Re\u0301dacteur ";
    expect((await add({ name: decomposed }, by)).body.data.name).toBe("R\u00e9dacteur");
    for (const role of [decomposed, "R\u00e9DACTEUR", "\uff2danager "]) {
      const path = `/api/users/${someone.userUuid}/role`;
      expect(outcome(await app.call("PUT", path, { token: by.token, body: { role } })), role).toBe("200");
    }
  });
});
