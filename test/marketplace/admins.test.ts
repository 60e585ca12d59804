import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { founder, invite, member, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { appPath, must, publish, refreshed } from "./stage.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp();
  owner = await founder(app);
});
afterAll(() => app.close());

const grant = (appId: string, userUuid: string, token = owner.token): Promise<Answer> =>
  app.call("POST", appPath(appId, "/admins"), { token, body: { user_uuid: userUuid } });
const revoke = (appId: string, userUuid: string, token = owner.token): Promise<Answer> =>
  app.call("DELETE", appPath(appId, `/admins/${userUuid}`), { token });
const tries = async (appId: string, token: string): Promise<string> =>
  outcome(await app.call("GET", appPath(appId, "/installs"), { token }));
const claimed = async (token: string): Promise<string[]> =>
  must(await app.call("GET", "/api/auth/me", { token })).app_admin ?? [];

describe("app admin", () => {
  it("a grant of app administration is in the token after the next refresh, and ends at the refresh after its revocation", async () => {
    const { appId } = await publish(app, owner.token);
    const someone = await member(app, owner);
    const { status, body } = await grant(appId, someone.userUuid.toUpperCase());
    expect(status).toBe(201);
    expect(body).toEqual({
      grant_id: body.grant_id,
      app_id: appId,
      user_uuid: someone.userUuid,
      granted_by: owner.userUuid,
      created_at: expect.any(String),
    });
    expect(outcome(await grant(appId, someone.userUuid))).toBe("409 grant_exists");
    expect(await tries(appId, someone.token)).toBe("403 forbidden");
    const empowered = await refreshed(app, someone);
    expect(await claimed(empowered)).toContain(appId);
    expect(await tries(appId, empowered)).toBe("200");

    const { data } = must(await app.call("GET", appPath(appId, "/admins"), { token: empowered }));
    expect(data).toEqual([
      { user_uuid: owner.userUuid, email: owner.email, is_org_owner: true, granted_at: null },
      { user_uuid: someone.userUuid, email: someone.email, is_org_owner: false, granted_at: expect.any(String) },
    ]);

    expect((await revoke(appId, someone.userUuid)).status).toBe(204);
    expect(await tries(appId, empowered)).toBe("200");
    expect(await tries(appId, await refreshed(app, someone))).toBe("403 forbidden");
    expect(outcome(await revoke(appId, someone.userUuid))).toBe("404 user_not_found");
  });

  it("a grant by an API key is recorded as its creator's", async () => {
    const { appId } = await publish(app, owner.token);
    const { api_key: key } = must(
      await app.call("POST", `/api/admin/organizations/${owner.org}/api-keys`, {
        token: owner.token,
        body: { name: "grants", scopes: ["write:apps"] },
      }),
    );
    expect(must(await grant(appId, (await member(app, owner)).userUuid, key)).granted_by).toBe(owner.userUuid);
  });

  it("only members of the publishing organization are granted app administration", async () => {
    const { appId } = await publish(app, owner.token);
    expect(outcome(await grant(appId, (await founder(app)).userUuid))).toBe("404 user_not_found");
    expect(outcome(await grant(appId, "00000000-0000-4000-8000-000000000000"))).toBe("404 user_not_found");
    expect(outcome(await grant(appId, "x"))).toMatch(/^400 /u);
  });

  it("no grant remains for a member who is removed while it is granted", async () => {
    const { appId } = await publish(app, owner.token);
    const someone = await member(app, owner);
    const held = await holding(app.databaseUrl);
    await held.run("update memberships set status = 'removed' where org_uuid = $1 and user_uuid = $2", [
      owner.org,
      someone.userUuid,
    ]);
    const granting = grant(appId, someone.userUuid);
    await held.waitedFor(1);
    await held.commit();
    expect(outcome(await granting)).toBe("404 user_not_found");
  });

  it("a removed member administers no app of the organization any more, nor an inactive one meanwhile", async () => {
    const { appId } = await publish(app, owner.token);
    const someone = await member(app, owner);
    must(await grant(appId, someone.userUuid));
    const elsewhere = must(
      await app.call("POST", "/api/organizations", { token: someone.token, body: { name: `Own of ${someone.email}` } }),
    );
    const own = { refreshToken: elsewhere.refresh_token as string };
    for (const token of [elsewhere.access_token as string, await refreshed(app, own)]) {
      expect(await claimed(token)).toEqual([]);
      expect(await tries(appId, token)).toBe("404 app_not_found");
    }
    const path = `/api/users/${someone.userUuid}`;
    const administrators = async (): Promise<string[]> =>
      (
        must(await app.call("GET", appPath(appId, "/admins"), { token: owner.token })).data as { user_uuid: string }[]
      ).map(({ user_uuid: id }) => id);
    must(await app.call("PATCH", path, { token: owner.token, body: { status: "inactive" } }));
    expect(await administrators()).toEqual([owner.userUuid]);
    must(await app.call("PATCH", path, { token: owner.token, body: { status: "active" } }));
    expect(await administrators()).toEqual([owner.userUuid, someone.userUuid]);
    must(await app.call("DELETE", path, { token: owner.token }));
    expect(await tries(appId, await refreshed(app, own))).toBe("404 app_not_found");
    expect(await administrators()).toEqual([owner.userUuid]);
    // Coming back does not bring the grant back.
    const { token: invitation } = await invite(app, owner, someone.email);
    const back = must(await app.call("POST", "/api/auth/invite/accept", { body: { token: invitation, password } }));
    expect(await claimed(back.data.access_token as string)).toEqual([]);
    expect((await grant(appId, someone.userUuid)).status).toBe(201);
  });

  it("twenty parallel grants to one person make one", async () => {
    const { appId } = await publish(app, owner.token);
    const someone = await member(app, owner);
    const answers = await Promise.all(Array.from({ length: 20 }, () => grant(appId, someone.userUuid)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(19).fill(409)]);
  });

  it("the creator of an app administers it with the present token until the app's key is rotated", async () => {
    const maker = await member(app, owner);
    const { appId } = await publish(app, maker.token);
    expect(await tries(appId, maker.token)).toBe("200");
    expect(await claimed(maker.token)).toEqual([appId]);
    app.clock.advance(10);
    must(await app.call("POST", appPath(appId, "/signing-key/rotate"), { token: owner.token, body: {} }));
    expect(await tries(appId, maker.token)).toBe("403 forbidden");
    expect(await claimed(maker.token)).toEqual([]);
    app.clock.advance(10);
    expect(await tries(appId, await refreshed(app, maker))).toBe("200");
  });
});

describe("/me with the token one has", () => {
  const grants = async (
    token: string,
    feature: string,
    orgUuid: string,
  ): Promise<{ granted: boolean; reason: string }> =>
    must(await app.call("POST", "/api/entitlements/check", { token, body: { feature, org_uuid: orgUuid } }));

  it("/me shows a new app to its creator, as entitlement checks and app access do, and to no colleague", async () => {
    const [maker, colleague] = [await member(app, owner), await member(app, owner)];
    expect([await claimed(maker.token), await claimed(colleague.token)]).toEqual([[], []]);
    app.clock.advance(1_000);
    const { appId, slug } = await publish(app, maker.token);
    expect(await claimed(maker.token)).toEqual([appId]);
    expect(await claimed(owner.token)).toContain(appId);
    expect(await claimed(colleague.token)).toEqual([]);
    expect(await grants(maker.token, `app:${slug}`, owner.org)).toMatchObject({
      granted: true,
      reason: "role:app_admin",
    });
    expect(await grants(colleague.token, `app:${slug}`, owner.org)).toMatchObject({ granted: false, reason: "denied" });
    const access = async (token: string) =>
      must(await app.call("GET", appPath(appId, "/access"), { token })).is_app_admin;
    expect([await access(maker.token), await access(colleague.token)]).toEqual([true, false]);
  });

  it("/me shows an owner apps that others created since, on another instance too", async () => {
    const boss = await founder(app);
    const maker = await member(app, boss);
    const other = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
    const elsewhere = async (): Promise<string[]> =>
      must(await other.call("GET", "/api/auth/me", { token: boss.token })).app_admin;
    try {
      expect([await claimed(boss.token), await elsewhere()]).toEqual([[], []]);
      const { appId } = await publish(app, maker.token);
      expect([await claimed(boss.token), await elsewhere()]).toEqual([[appId], [appId]]);
    } finally {
      await other.close();
    }
  });
});

it("rotating an app's key invalidates claims of that app at once, in /me too, until the next refresh", async () => {
  const [first, second] = [await publish(app, owner.token), await publish(app, owner.token)];
  const someone = await member(app, owner);
  for (const { appId } of [first, second]) must(await grant(appId, someone.userUuid));
  const token = await refreshed(app, someone);
  expect(await tries(first.appId, token)).toBe("200");
  app.clock.advance(10);

  const rotated = await app.call("POST", appPath(first.appId, "/signing-key/rotate"), { token, body: {} });
  expect(rotated).toMatchObject({
    status: 200,
    body: { app_id: first.appId, key_id: expect.any(String), rotated_at: expect.any(String) },
  });
  expect(await tries(first.appId, token)).toBe("403 forbidden");
  expect(await tries(second.appId, token)).toBe("200");
  expect(await claimed(token)).toEqual([second.appId]);
  expect(await tries(first.appId, owner.token)).toBe("200");
  expect(await claimed(owner.token)).toEqual(expect.arrayContaining([first.appId, second.appId]));
  const ownerWithClaims = await refreshed(app, owner);
  app.clock.advance(10);
  must(await app.call("POST", appPath(first.appId, "/signing-key/rotate"), { token: ownerWithClaims, body: {} }));
  expect(await claimed(ownerWithClaims)).toEqual(expect.arrayContaining([first.appId, second.appId]));

  app.clock.advance(10);
  const again = await refreshed(app, someone);
  expect(await tries(first.appId, again)).toBe("200");
  expect((await claimed(again)).sort()).toEqual([first.appId, second.appId].sort());
  expect(await tries(first.appId, token)).toBe("403 forbidden");
});

it("listings are returned in order and paged", async () => {
  const { appId } = await publish(app, owner.token);
  const list = (body: unknown): Promise<Answer> =>
    app.call("POST", appPath(appId, "/listings"), { token: owner.token, body });
  const one = await list({ marketplace: "aws", external_product_id: "prod-1", external_plan_id: "plan-1" });
  expect(one).toMatchObject({
    status: 201,
    body: {
      app_id: appId,
      marketplace: "aws",
      external_product_id: "prod-1",
      external_plan_id: "plan-1",
      status: "active",
    },
  });
  app.clock.advance(5);
  const two = await list({ marketplace: "azure", external_product_id: "prod-2" });
  expect(Object.keys(two.body).sort()).toEqual([
    "app_id",
    "created_at",
    "external_plan_id",
    "external_product_id",
    "listing_id",
    "marketplace",
    "status",
  ]);
  expect(two.body.external_plan_id).toBeNull();
  const page = async (query: string) =>
    must(await app.call("GET", appPath(appId, `/listings${query}`), { token: owner.token }));
  expect(await page("")).toEqual({ data: [two.body, one.body], total: 2, limit: 50, offset: 0 });
  expect(await page("?limit=1&offset=1")).toEqual({ data: [one.body], total: 2, limit: 1, offset: 1 });
  expect(outcome(await list({ marketplace: "aws", external_product_id: "prod-1", external_plan_id: "plan-1" }))).toBe(
    "409 conflict",
  );
  expect(
    (await Promise.all(Array.from({ length: 8 }, () => list({ marketplace: "aws", external_product_id: "prod-1" }))))
      .map(outcome)
      .sort(),
  ).toEqual(["201", ...Array<string>(7).fill("409 conflict")]);
  for (const body of [
    {},
    { marketplace: "aws" },
    { marketplace: "", external_product_id: "x" },
    { marketplace: "aws", external_product_id: "x".repeat(256) },
  ])
    expect(outcome(await list(body))).toBe("400 validation_error");
});

it("app access returns the caller's role in an app", async () => {
  const [admin, buyer] = [await app.login(), await founder(app)];
  const { appId, slug } = await publish(app, owner.token);
  const access = (token: string): Promise<Answer> => app.call("GET", appPath(appId, "/access"), { token });
  expect((await access(owner.token)).body).toEqual({
    is_app_admin: true,
    is_org_owner: true,
    install_status: null,
    install_id: null,
  });
  expect(outcome(await access(buyer.token))).toBe("404 app_not_found");
  must(await app.call("POST", `/api/admin/marketplace/apps/${appId}/approve`, { token: admin }));
  expect((await access(buyer.token)).body).toEqual({
    is_app_admin: false,
    is_org_owner: false,
    install_status: null,
    install_id: null,
  });
  expect((await access(admin)).body).toMatchObject({ is_app_admin: true, is_org_owner: false });
  expect((await access((await member(app, owner)).token)).body).toMatchObject({
    is_app_admin: false,
    is_org_owner: false,
  });
  const { install_id: installId } = must(
    await app.call("POST", `/api/marketplace/${slug}/install`, { token: buyer.token, body: {} }),
  );
  expect((await access(buyer.token)).body).toEqual({
    is_app_admin: false,
    is_org_owner: false,
    install_status: "provisioning",
    install_id: installId,
  });
  must(await app.call("POST", appPath(appId, "/archive"), { token: owner.token }));
  expect((await access(buyer.token)).body).toMatchObject({ install_status: "provisioning" });
  expect(outcome(await access((await founder(app)).token))).toBe("404 app_not_found");
});
