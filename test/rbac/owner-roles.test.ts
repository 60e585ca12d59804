import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { elevated, founder, invite, member, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

const NAMES = ["", "admin", "manager", "employee"];
type Assign = (token: string, of: Somebody, roleId: number) => Promise<Answer>;
const routes: [string, Assign][] = [
  [
    "PUT /api/users/{user_uuid}/role",
    (token, { userUuid }, roleId) =>
      app.call("PUT", `/api/users/${userUuid}/role`, { token, body: { role: NAMES[roleId] } }),
  ],
  [
    "PUT /api/v2/organizations/{org_uuid}/users/{user_uuid}/role",
    (token, { org, userUuid }, roleId) =>
      app.call("PUT", `/api/v2/organizations/${org}/users/${userUuid}/role`, { token, body: { roleId } }),
  ],
];

const own = (of: Somebody, token: string, is_owner = true): Promise<Answer> =>
  app.call("PATCH", `/api/users/${of.userUuid}`, { token, body: { is_owner } });
const shown = async (by: Somebody, of: Somebody): Promise<unknown[]> => {
  const { body } = await app.call("GET", `/api/users?user_uuid=${of.userUuid}`, { token: by.token });
  return [body.data[0].role, body.data[0].is_owner];
};
const isLive = async (token: string): Promise<boolean> =>
  (await app.call("GET", "/api/auth/me", { token })).status === 200;

describe.each(routes)("%s", (_route, assign) => {
  it("changes no owner for an administrator, and not the last one", async () => {
    const by = await founder(app);
    const admin = await member(app, by, 1);
    for (const role of [1, 3]) expect(outcome(await assign(admin.token, by, role))).toBe("403 forbidden");
    expect(outcome(await assign(by.token, by, 3))).toBe("409 last_owner");
    expect((await assign(by.token, by, 1)).status).toBe(200);
    expect([await shown(by, by), await isLive(by.token)]).toEqual([["admin", true], true]);
  });

  it("ends ownership by another role, and keeps it by the role admin", async () => {
    const by = await founder(app);
    const other = await member(app, by, 2);
    expect((await own(other, await elevated(app, by.token))).status).toBe(200);
    expect((await assign(by.token, other, 1)).status).toBe(200);
    expect(await shown(by, other)).toEqual(["admin", true]);
    const { body } = await app.call("POST", "/api/auth/refresh", { body: { refresh_token: other.refreshToken } });
    expect((await assign(by.token, other, 2)).status).toBe(200);
    expect([await shown(by, other), await isLive(body.access_token)]).toEqual([["manager", false], false]);
  });
});

describe("ownership", () => {
  it("is taken by an elevated owner, leaves the role admin, and voids the tokens of before", async () => {
    const by = await founder(app);
    const other = await member(app, by, 3);
    const strong = await elevated(app, by.token);
    expect((await own(other, strong)).status).toBe(200);
    const { body } = await app.call("POST", "/api/auth/refresh", { body: { refresh_token: other.refreshToken } });
    expect(outcome(await own(other, by.token, false))).toBe("403 step_up_required");
    expect((await own(other, strong, false)).body).toMatchObject({ role: "admin", is_owner: false });
    expect(await isLive(body.access_token)).toBe(false);
  });

  it("is not given back by a new invitation to an owner who was removed", async () => {
    const by = await founder(app);
    const other = await member(app, by, 1);
    expect((await own(other, await elevated(app, by.token))).status).toBe(200);
    expect((await app.call("DELETE", `/api/users/${other.userUuid}`, { token: by.token })).status).toBe(204);
    const { token } = await invite(app, by, other.email, 1);
    const accepted = await app.call("POST", "/api/auth/invite/accept", { body: { token, password } });
    expect(accepted.body.data).toMatchObject({ user_uuid: other.userUuid, role: "admin" });
    expect(await shown(by, other)).toEqual(["admin", false]);
    const strong = await elevated(app, accepted.body.data.access_token as string);
    expect(outcome(await app.call("DELETE", `/api/organizations/${by.org}`, { token: strong }))).toBe("403 forbidden");
  });
});
