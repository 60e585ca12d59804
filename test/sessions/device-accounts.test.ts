import { randomUUID } from "node:crypto";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { TestApp } from "../support/app.ts";
import { auditOf, elevated, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { held, signIn, startWithPeople, works } from "./support.ts";
import type { Held } from "./support.ts";

let app: TestApp;
let boss: Somebody;
let ann: Somebody;
let bob: Somebody;
let device: string;
let anns: Held;
beforeAll(async () => {
  ({ app, boss, ann, bob } = await startWithPeople());
});
afterAll(() => app.close());
beforeEach(async () => {
  device = randomUUID();
  anns = await signIn(app, ann, device);
  app.clock.advance(10);
});

const url = (rest: string, on = device): string => `/api/devices/${on}/${rest}`;
const get = (rest: string, token: string) => app.call("GET", url(rest), { token });
const add = (proof: string, token = anns.token) =>
  app.call("POST", url("accounts"), { token, body: { access_token: proof } });
const switchTo = (id: string, token = anns.token) =>
  app.call("POST", url("active-account"), { token, body: { account_id: id } });
const accounts = async (token = anns.token): Promise<Record<string, unknown>[]> =>
  (await get("accounts", token)).body.data as never;

describe("accounts of a device", () => {
  it("the accounts of a device start with the login's own", async () => {
    const [own, ...rest] = await accounts();
    expect(rest).toEqual([]);
    expect(Object.keys(own ?? {}).sort()).toEqual([
      "added_at",
      "email",
      "id",
      "is_active",
      "last_used_at",
      "org_uuid",
      "user_uuid",
    ]);
    expect(own).toMatchObject({
      id: expect.any(String),
      user_uuid: ann.userUuid,
      email: ann.email,
      org_uuid: boss.org,
      is_active: true,
    });
    expect((await accounts())[0]?.["id"]).toBe(own?.["id"]);
  });

  it("an account is added by its access token", async () => {
    const added = await add(bob.token);
    expect(added).toMatchObject({
      status: 201,
      body: { user_uuid: bob.userUuid, email: bob.email, org_uuid: bob.org, is_active: false },
    });
    expect(await accounts()).toMatchObject([{ user_uuid: ann.userUuid, is_active: true }, added.body]);
    expect(outcome(await add("no token"))).toBe("401 unauthorized");
    expect(outcome(await add(""))).toBe("400 validation_error");
    expect((await auditOf(app, bob, "device.account_added")).slice(0, 1)).toMatchObject([
      { actor: { id: ann.userUuid }, resource_id: added.body.id },
    ]);
  });

  it("an account is added once", async () => {
    await add(bob.token);
    expect(outcome(await add(bob.token))).toBe("409 conflict");
    expect(outcome(await add((await signIn(app, bob)).token))).toBe("409 conflict");
    expect(outcome(await add(ann.token))).toBe("409 conflict");
  });

  it("a device has at most ten accounts, the login's own included, under concurrency", async () => {
    const tokens = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const { body: sent } = await app.call("POST", "/api/auth/magic-link/send", {
          body: { email: `${randomUUID()}@crowd.test` },
        });
        return (await app.call("POST", "/api/auth/magic-link/verify", { body: { token: sent.dev_token } })).body
          .access_token as string;
      }),
    );
    const answers = (await Promise.all(tokens.map((token) => add(token)))).map(outcome);
    expect(answers.toSorted()).toEqual([...Array<string>(9).fill("201"), "422 unprocessable"]);
    const list = await accounts();
    expect(list).toHaveLength(10);
    expect(list[1]).toMatchObject({ org_uuid: null });
    expect((await app.call("DELETE", url(`accounts/${String(list[1]?.["id"])}`), { token: anns.token })).status).toBe(
      204,
    );
    expect((await add(bob.token)).status).toBe(201);
  });

  it("an added account is shown to the person who added it, and to admins of its organization", async () => {
    const bobs = await signIn(app, bob, device);
    const carl = await member(app, boss);
    const { body: added } = await add(carl.token, bobs.token);
    expect(await accounts()).toMatchObject([{ user_uuid: ann.userUuid }]);
    expect(await accounts(bobs.token)).toMatchObject([{ user_uuid: bob.userUuid }, { id: added.id }]);
    expect(await accounts(boss.token)).toMatchObject([{ user_uuid: ann.userUuid }, { id: added.id }]);
    expect(outcome(await get("accounts", carl.token))).toBe("404 not_found");
    expect(outcome(await app.call("DELETE", url(`accounts/${added.id}`), { token: anns.token }))).toBe("404 not_found");
    expect(outcome(await switchTo(added.id as string, boss.token))).toBe("404 not_found");
    expect((await app.call("DELETE", url(`accounts/${added.id}`), { token: boss.token })).status).toBe(204);
    expect(await accounts(bobs.token)).toHaveLength(1);
  });

  it("keys and tokens without an organization have no accounts", async () => {
    const { body } = await app.call("POST", `/api/admin/organizations/${boss.org}/api-keys`, {
      token: boss.token,
      body: { name: "robot", scopes: ["admin"] },
    });
    const key = JSON.stringify(body).match(/"(?:key|secret|api_key|token)":"([^"]+)"/u)?.[1] ?? "";
    expect(outcome(await get("accounts", key))).toBe("403 forbidden");
    const { body: sent } = await app.call("POST", "/api/auth/magic-link/send", {
      body: { email: "free@nowhere.test" },
    });
    const { body: free } = await app.call("POST", "/api/auth/magic-link/verify", { body: { token: sent.dev_token } });
    expect(
      outcome(
        await app.call("GET", url("accounts", free.device_uuid as string), { token: free.access_token as string }),
      ),
    ).toBe("403 forbidden");
  });
});

describe("switching", () => {
  it("switching opens a session of the other account, never elevated", async () => {
    const { body: added } = await add(await elevated(app, bob.token));
    app.clock.advance(5_000);
    const switched = await switchTo(added.id as string);
    expect(switched).toMatchObject({
      status: 200,
      body: {
        id: added.id,
        user_uuid: bob.userUuid,
        org_uuid: bob.org,
        is_active: true,
        token_type: "Bearer",
        expires_in: 420,
      },
    });
    expect(switched.headers.get("cache-control")).toBe("no-store");
    expect(Date.parse(switched.body.last_used_at) - Date.parse(switched.body.added_at)).toBe(5_000);
    const session = held(switched.body, device);
    expect(decodeJwt(session.token)["acr"]).toBeUndefined();
    expect((await app.call("GET", "/api/auth/step-up/status", { token: session.token })).body.elevated).toBe(false);
    expect((await app.call("GET", "/api/auth/me", { token: session.token })).body).toMatchObject({
      user_uuid: bob.userUuid,
      org_uuid: bob.org,
    });
    expect(
      (await app.call("POST", "/api/auth/refresh", { body: { refresh_token: session.refreshToken } })).status,
    ).toBe(200);
    expect((await get("session-inventory", session.token)).body.data).toMatchObject([
      { session_id: session.sid, device_uuid: device },
    ]);
    expect(await accounts()).toMatchObject([{ is_active: false }, { id: added.id, is_active: true }]);
    expect((await auditOf(app, bob, "device.account_switched")).slice(0, 1)).toMatchObject([
      { actor: { id: ann.userUuid }, metadata: { session_id: session.sid } },
    ]);
  });

  it("switching returns to the login's own account", async () => {
    const { body: added } = await add(bob.token);
    await switchTo(added.id as string);
    const [own] = await accounts();
    const back = await switchTo(String(own?.["id"]));
    expect(back).toMatchObject({ status: 200, body: { user_uuid: ann.userUuid, is_active: true } });
    expect(await works(app, back.body.access_token)).toBe(true);
    expect(await accounts()).toMatchObject([{ is_active: true }, { is_active: false }]);
  });

  it("switching is refused once the session of the account has ended", async () => {
    const proof = await signIn(app, bob);
    const { body: added } = await add(proof.token);
    const { body: switched } = await switchTo(added.id as string);
    await app.call("POST", "/api/auth/logout", { token: proof.token });
    expect(outcome(await switchTo(added.id as string))).toBe("401 unauthorized");
    expect(await works(app, switched.access_token)).toBe(false);
    expect((await app.call("GET", "/api/auth/me", { token: anns.token })).status).toBe(200);
  });

  it("switching is refused while the membership is inactive, and enters with the role of now", async () => {
    const carl = await member(app, boss);
    const { body: added } = await add(carl.token);
    const role = { token: boss.token, body: { role: "manager" } };
    expect((await app.call("PUT", `/api/users/${carl.userUuid}/role`, role)).status).toBe(200);
    const { body: switched } = await switchTo(added.id as string);
    expect(decodeJwt(switched.access_token as string)).toMatchObject({ org: boss.org, roles: ["manager"] });
    const body = { status: "inactive" };
    await app.call("PATCH", `/api/users/${carl.userUuid}`, { token: boss.token, body });
    expect(outcome(await switchTo(added.id as string))).toBe("401 unauthorized");
    expect([await works(app, switched.access_token as string), await works(app, anns.token)]).toEqual([false, true]);
  });

  it("switching is refused once the membership has ended", async () => {
    const carl = await member(app, boss);
    const { body: added } = await add(carl.token);
    expect((await switchTo(added.id as string)).status).toBe(200);
    expect((await app.call("DELETE", `/api/users/${carl.userUuid}`, { token: boss.token })).status).toBeLessThan(300);
    expect(outcome(await switchTo(added.id as string))).toBe("401 unauthorized");
  });

  it("switching to another person's account is refused", async () => {
    expect(outcome(await switchTo(randomUUID()))).toBe("404 not_found");
    expect(outcome(await switchTo("x"))).toBe("400 validation_error");
    expect(outcome(await switchTo(""))).toBe("400 validation_error");
  });
});

describe("removing an account", () => {
  it("removing an account ends the sessions opened by switching to it, and no others", async () => {
    const { body: added } = await add(bob.token);
    const { body: switched } = await switchTo(added.id as string);
    const remove = () => app.call("DELETE", url(`accounts/${added.id}`), { token: anns.token });
    expect((await remove()).status).toBe(204);
    expect([
      await works(app, switched.access_token),
      await works(app, bob.token),
      await works(app, anns.token),
    ]).toEqual([false, true, true]);
    expect(outcome(await remove())).toBe("404 not_found");
    expect(await accounts()).toMatchObject([{ user_uuid: ann.userUuid, is_active: true }]);
  });

  it("removing the login's own account ends its sessions, and no colleague's", async () => {
    const carls = await signIn(app, await member(app, boss), device);
    const [own] = await accounts();
    expect((await app.call("DELETE", url(`accounts/${String(own?.["id"])}`), { token: anns.token })).status).toBe(204);
    expect([await works(app, anns.token), await works(app, ann.token)]).toEqual([false, true]);
    expect(await works(app, carls.token)).toBe(true);
  });

  it("the login's own account is that of its organization, and its removal ends no session in another", async () => {
    const { status, body } = await app.call("POST", "/api/organizations", {
      token: anns.token,
      body: { name: `Side of ${device}` },
      headers: { "x-device-uuid": device },
    });
    expect(status).toBe(201);
    const side = body.access_token as string;
    const [own, ...rest] = await accounts();
    expect([own?.["org_uuid"], rest]).toEqual([boss.org, []]);
    expect((await accounts(side)).map(({ org_uuid }) => org_uuid)).toEqual([body.org_uuid]);
    expect((await app.call("DELETE", url(`accounts/${String(own?.["id"])}`), { token: anns.token })).status).toBe(204);
    expect([await works(app, anns.token), await works(app, side)]).toEqual([false, true]);
  });
});
