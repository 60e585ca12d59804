import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member } from "../support/people.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

test("a refused login is recorded in the organization of present and former members, and in none for strangers", async () => {
  const [owner, stranger] = [await founder(app), await founder(app)];
  const [inactive, removed] = [await member(app, owner), await member(app, owner)];
  await app.call("PATCH", `/api/users/${inactive.userUuid}`, { token: owner.token, body: { status: "inactive" } });
  await app.call("DELETE", `/api/users/${removed.userUuid}`, { token: owner.token });
  const people = [owner, inactive, removed, stranger];
  for (const { email } of people) {
    app.clock.advance(1);
    expect(
      (
        await app.call("POST", "/api/auth/login", {
          body: { email, password: "not this one", org_name: owner.orgName },
        })
      ).status,
    ).toBe(401);
  }
  const path = "/api/auth/events?type=login.password&outcome=failure";
  const { body } = await app.call("GET", path, { token: owner.token });
  expect(body.data).toMatchObject(
    [removed, inactive, owner].map(({ userUuid }) => ({
      user_uuid: userUuid,
      org_uuid: owner.org,
      metadata: { code: "unauthorized" },
    })),
  );
  expect(body.total).toBe(3);
  expect((await app.call("GET", `${path}&user_uuid=${removed.userUuid}`, { token: owner.token })).body.total).toBe(1);
  expect((await app.call("GET", path, { token: stranger.token })).body.total).toBe(0);
  expect((await app.call("GET", path, { token: await app.login() })).body.data).toMatchObject([
    { user_uuid: stranger.userUuid, org_uuid: null },
  ]);
});

test("every refused proof of nobody known is recorded by its door, for platform admins alone", async () => {
  const owner = await founder(app);
  const proofs: [path: string, body: object, type: string, metadata: object][] = [
    ["login", { email: "nobody@people.test", password: "x", org_name: owner.orgName }, "login.password", {}],
    ["magic-link/verify", { token: "x" }, "login.magic_link", { method: "magic_link" }],
    ["otp/verify", { email: "nobody@people.test", code: "123456" }, "login.magic_link", { method: "otp" }],
    ["mfa/totp/challenge", { mfa_token: "x", code: "123456" }, "login.totp_verify", {}],
    ["refresh", { refresh_token: "x" }, "token.refreshed", {}],
  ];
  const platform = await app.login();
  for (const [path, body, type, metadata] of proofs) {
    app.clock.advance(1);
    const from = new Date(app.clock.now()).toISOString();
    expect((await app.call("POST", `/api/auth/${path}`, { body })).status, path).toBe(401);
    const failures = async (token: string) =>
      (await app.call("GET", `/api/auth/events?outcome=failure&from=${from}`, { token })).body.data as unknown[];
    expect(await failures(platform), path).toMatchObject([
      { type, user_uuid: null, org_uuid: null, metadata: { ...metadata, code: "unauthorized" } },
    ]);
    expect(await failures(owner.token), path).toEqual([]);
  }
});
