import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { auditOf, elevated, founder, invite, member, newcomer, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let second: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  owner = await founder(app);
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const users = (by: Somebody, query = "") => app.call("GET", `/api/users${query}`, { token: by.token });
const patch = (token: string, of: Somebody, body: unknown) =>
  app.call("PATCH", `/api/users/${of.userUuid}`, { token, body });
const setRole = (token: string, of: Somebody, role: string) =>
  app.call("PUT", `/api/users/${of.userUuid}/role`, { token, body: { role } });
const remove = (token: string, of: Somebody) => app.call("DELETE", `/api/users/${of.userUuid}`, { token });
const me = (token: string, on = app) => on.call("GET", "/api/auth/me", { token });
const emails = ({ body }: { body: { data: { email: string }[] } }) => body.data.map(({ email }) => email);

describe("GET /api/users", () => {
  it("the list of members is ordered by email, filtered and paged", async () => {
    const by = await founder(app);
    const [a, b] = [await member(app, by, 1), await member(app, by, 4)];
    await patch(by.token, b, { status: "inactive" });
    const { body } = await users(by);
    expect(body).toMatchObject({ total: 3, limit: 50, offset: 0 });
    expect(emails({ body })).toEqual([by.email, a.email, b.email].sort());
    expect(Object.keys(body.data[0]).sort()).toEqual([
      "created_at",
      "email",
      "first_name",
      "id",
      "is_owner",
      "last_seen_at",
      "mfa_active",
      "role",
      "role_id",
      "status",
      "user_uuid",
    ]);
    expect(emails(await users(by, "?status=inactive"))).toEqual([b.email]);
    expect((await users(by, "?status=active")).body).toMatchObject({ total: 2 });
    expect((await users(by, `?email=${a.email.toUpperCase()}`)).body).toMatchObject({
      total: 1,
      data: [{ user_uuid: a.userUuid, role: "admin", role_id: 1, is_owner: false, status: "active" }],
    });
    expect((await users(by, `?email=${a.email}&status=inactive`)).body).toMatchObject({ total: 0, data: [] });
    expect(emails(await users(by, `?user_uuid=${b.userUuid}`))).toEqual([b.email]);
    expect((await users(by, `?user_uuid=${owner.userUuid}`)).body).toMatchObject({ total: 0, data: [] });
    expect((await users(by, "?role_id=4")).body).toMatchObject({ total: 1, data: [{ email: b.email }] });
    expect((await users(by, "?role_id=4&status=active")).body).toMatchObject({ total: 0, data: [] });
    expect((await users(by, "?role_id=4294967295")).body).toMatchObject({ total: 0, data: [] });
    expect((await users(by, "?email=nobody@people.test")).body).toMatchObject({ total: 0, data: [] });
    expect((await users(by, "?email=not-an-address")).body).toMatchObject({ total: 0, data: [] });
    expect((await users(by, "?limit=1&offset=1")).body).toMatchObject({
      total: 3,
      limit: 1,
      offset: 1,
      data: [{ email: emails({ body })[1] }],
    });
    await remove(by.token, b);
    expect((await users(by)).body).toMatchObject({ total: 2 });
    expect((await users(by, "?status=inactive")).body).toMatchObject({ total: 0 });
  });

  it.each([
    "?status=removed",
    "?limit=0",
    "?limit=201",
    "?offset=10001",
    "?offset=-1",
    "?limit=x",
    "?user_uuid=x",
    "?role_id=x",
  ])("the list of members refuses %s", async (query) => {
    expect(outcome(await users(owner, query))).toBe("400 validation_error");
  });

  it("administrators alone list members", async () => {
    expect(outcome(await users(await member(app, owner, 2)))).toBe("403 forbidden");
    expect((await users(await member(app, owner, 1))).status).toBe(200);
  });
});

describe("a role", () => {
  it("a changed role voids the member's older tokens at once, and a refresh brings the new role", async () => {
    const someone = await member(app, owner);
    expect((await me(someone.token, second)).status).toBe(200);
    expect((await setRole(owner.token, someone, "Manager")).body).toEqual({ status: "ok" });
    expect((await me(someone.token, second)).status).toBe(401);
    expect((await me(someone.token)).status).toBe(401);
    const { body } = await app.call("POST", "/api/auth/refresh", { body: { refresh_token: someone.refreshToken } });
    expect((await me(body.access_token)).body).toMatchObject({ roles: ["manager"] });
    expect((await setRole(owner.token, someone, "manager")).status).toBe(200);
    expect((await me(body.access_token)).status).toBe(200);
    expect((await auditOf(app, owner, "role.assigned"))[0]).toMatchObject({
      resource_id: someone.userUuid,
      metadata: { before: { role: "employee" }, after: { role: "manager" } },
    });
  });

  it.each([
    ["nonsense", "404 role_not_found"],
    ["", "400 validation_error"],
  ])("assigning a role called %j is refused", async (role, expected) => {
    expect(outcome(await setRole(owner.token, await member(app, owner), role))).toBe(expected);
  });

  it("assigning a role to a stranger and to nobody returns the same 404", async () => {
    const stranger = await founder(app);
    const unknown = { ...stranger, userUuid: "0b1d2a3e-aaaa-4000-8000-00000000000f" };
    for (const call of [
      setRole(owner.token, stranger, "admin"),
      setRole(owner.token, unknown, "admin"),
      patch(owner.token, stranger, { status: "inactive" }),
      remove(owner.token, stranger),
      remove(owner.token, unknown),
    ]) {
      expect(outcome(await call)).toBe("404 user_not_found");
    }
    expect((await me(stranger.token)).status).toBe(200);
    expect(outcome(await setRole(owner.token, { ...stranger, userUuid: "x" }, "admin"))).toBe("400 invalid_uuid");
  });
});

describe("a member", () => {
  it("a deactivated member loses every session at once and for good", async () => {
    const someone = await member(app, owner);
    expect((await patch(owner.token, someone, { status: "inactive" })).body).toMatchObject({
      user_uuid: someone.userUuid,
      status: "inactive",
    });
    expect((await me(someone.token, second)).status).toBe(401);
    expect(
      (await app.call("POST", "/api/auth/refresh", { body: { refresh_token: someone.refreshToken } })).status,
    ).toBe(401);
    await expect(app.login(someone.email, newcomer().password, owner.orgName)).rejects.toThrow(/401/u);
    expect((await patch(owner.token, someone, { status: "active" })).body).toMatchObject({ status: "active" });
    expect((await me(someone.token)).status).toBe(401);
    expect(
      (await app.call("POST", "/api/auth/refresh", { body: { refresh_token: someone.refreshToken } })).status,
    ).toBe(401);
    await expect(app.login(someone.email, newcomer().password, owner.orgName)).resolves.toBeDefined();
    const ended = (await auditOf(app, owner, "session.bulk_revoked")).map(({ metadata }) => metadata["reason"]);
    expect(ended).toContain("membership_inactive");
  });

  it("a removed member leaves this organization alone and may be invited again", async () => {
    const other = await founder(app);
    const { token } = await invite(app, owner, other.email);
    const { body } = await app.call("POST", "/api/auth/invite/accept", { token: other.token, body: { token } });
    const here = { ...other, token: body.data.access_token as string };
    expect((await remove(owner.token, here)).status).toBe(204);
    expect((await me(here.token)).status).toBe(401);
    expect((await me(other.token)).status).toBe(200);
    expect(outcome(await remove(owner.token, here))).toBe("404 user_not_found");
    const again = await invite(app, owner, other.email, 4);
    const rejoined = await app.call("POST", "/api/auth/invite/accept", {
      token: other.token,
      body: { token: again.token },
    });
    expect(rejoined.body.data).toMatchObject({ role: "observer" });
    expect((await me(here.token)).status).toBe(401);
  });

  it("an empty or invalid change leaves a member unchanged", async () => {
    const someone = await member(app, owner);
    expect((await patch(owner.token, someone, {})).body).toMatchObject({ status: "active", is_owner: false });
    expect(outcome(await patch(owner.token, someone, { status: "removed" }))).toBe("400 validation_error");
    expect((await me(someone.token)).status).toBe(200);
  });
});

describe("owners", () => {
  it("owners make others owner with an elevated token alone", async () => {
    const by = await founder(app);
    const [someone, admin] = [await member(app, by), await member(app, by, 1)];
    expect(outcome(await patch(admin.token, someone, { is_owner: true }))).toBe("403 forbidden");
    expect(outcome(await patch(by.token, someone, { is_owner: true }))).toBe("403 step_up_required");
    const strong = await elevated(app, by.token);
    expect((await patch(strong, someone, { is_owner: true })).body).toMatchObject({
      is_owner: true,
      role: "admin",
      role_id: 1,
    });
    const { body } = await app.call("POST", "/api/auth/refresh", { body: { refresh_token: someone.refreshToken } });
    expect((await me(body.access_token)).body).toMatchObject({ roles: ["admin"] });
    for (const call of [
      setRole(admin.token, someone, "employee"),
      patch(admin.token, someone, { status: "inactive" }),
      remove(admin.token, someone),
    ]) {
      expect(outcome(await call)).toBe("403 forbidden");
    }
    expect((await setRole(by.token, someone, "observer")).status).toBe(200);
    expect((await users(by, `?email=${someone.email}`)).body.data).toMatchObject([
      { role: "observer", is_owner: false },
    ]);
  });

  it("the last owner cannot leave the organization", async () => {
    const by = await founder(app);
    const strong = await elevated(app, by.token);
    for (const call of [
      setRole(by.token, by, "manager"),
      patch(by.token, by, { status: "inactive" }),
      patch(strong, by, { is_owner: false }),
      remove(by.token, by),
    ]) {
      expect(outcome(await call)).toBe("409 last_owner");
    }
    expect((await setRole(by.token, by, "admin")).status).toBe(200);
    expect((await me(by.token)).status).toBe(200);
  });

  it("of the last two owners who leave at once, one stays", async () => {
    const by = await founder(app);
    const other = await member(app, by, 1);
    await patch(await elevated(app, by.token), other, { is_owner: true });
    const { body } = await app.call("POST", "/api/auth/refresh", { body: { refresh_token: other.refreshToken } });
    const outcomes = await Promise.all([
      remove(by.token, by),
      second.call("DELETE", `/api/users/${other.userUuid}`, { token: body.access_token }),
    ]);
    expect(outcomes.map(outcome).sort()).toEqual(["204", "409 last_owner"]);
  });

  it("of two owners who remove each other at once, one succeeds although there is a third", async () => {
    const by = await founder(app);
    const strong = await elevated(app, by.token);
    const tokens = await Promise.all(
      [await member(app, by, 1), await member(app, by, 1)].map(async (one) => {
        await patch(strong, one, { is_owner: true });
        const { body } = await app.call("POST", "/api/auth/refresh", { body: { refresh_token: one.refreshToken } });
        return { ...one, token: body.access_token as string };
      }),
    );
    const [one, other] = tokens as [Somebody, Somebody];
    const held = await holding(app.databaseUrl);
    await held.run("select 1 from organizations where uuid = $1 for no key update", [by.org]);
    const removals = Promise.all([
      remove(one.token, other),
      second.call("DELETE", `/api/users/${one.userUuid}`, { token: other.token }),
    ]);
    await held.waitedFor(2);
    await held.commit();
    expect((await removals).map(outcome).sort()).toEqual(["204", "401 unauthorized"]);
    expect((await users(by)).body.total).toBe(2);
  });

  it("an inactive member cannot become owner", async () => {
    const by = await founder(app);
    const other = await member(app, by);
    expect(outcome(await patch(await elevated(app, by.token), other, { is_owner: true, status: "inactive" }))).toBe(
      "409 conflict",
    );
  });
});

it("a member was last seen when they used this organization, whatever they do in another", async () => {
  const by = await founder(app);
  const someone = await member(app, by);
  const own = { name: `Side of ${someone.email}` };
  expect((await app.call("POST", "/api/organizations", { token: someone.token, body: own })).status).toBe(201);
  const seen = async (): Promise<string> => {
    const token = await app.login(by.email, password, by.orgName);
    return (await users({ ...by, token }, `?email=${someone.email}`)).body.data[0].last_seen_at as string;
  };
  const before = await seen();
  app.clock.advance(3_600_000);
  await app.login(someone.email, password, own.name);
  expect(await seen()).toBe(before);
  await app.login(someone.email, password, by.orgName);
  expect(await seen()).toBe(new Date(app.clock.now()).toISOString());
});
