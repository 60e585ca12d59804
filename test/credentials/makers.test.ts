import { crc32 } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publish } from "../marketplace/stage.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { auditOf, founder, invite, member, newcomer, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
});
afterAll(() => app.close());

const keys = () => `/api/admin/organizations/${owner.org}/api-keys`;
const make = async (by: string, ...scopes: string[]) =>
  (await app.call("POST", keys(), { token: by, body: { name: "ci", scopes } })).body as {
    key_id: string;
    api_key: string;
  };
const listed = async (keyId: string) =>
  (await app.call("GET", `${keys()}?limit=200`, { token: owner.token })).body.data.find(
    (key: { key_id: string }) => key.key_id === keyId,
  );
const get = async (path: string, token: string) => outcome(await app.call("GET", path, { token }));

describe("an API key has the power of its maker", () => {
  test("a platform administrator's key has administrator power whatever their role, but no platform or vault power", async () => {
    const { token } = await invite(app, owner, app.owner.email, 3);
    const { body } = await app.call("POST", "/api/auth/invite/accept", { token: await app.login(), body: { token } });
    const guest = body.data.access_token as string;
    const { api_key: key } = await make(guest, "admin");
    expect(await get("/api/users", key)).toBe("200");
    expect(await get(keys(), key)).toBe("200");
    expect(await get("/api/admin/plans", key)).toBe("403 forbidden");
    expect((await app.call("GET", "/api/auth/me", { token: key })).body).toMatchObject({
      platform_admin: false,
      roles: ["employee"],
    });
    expect(
      outcome(await app.call("POST", keys(), { token: guest, body: { name: "x", scopes: ["vault:write"] } })),
    ).toBe("403 forbidden");
    const narrow = (await make(guest, "read:roles")).api_key;
    expect([await get("/api/roles", narrow), await get("/api/users", narrow)]).toEqual(["200", "403 forbidden"]);
  });

  test("an API key ends when its creator is deactivated or removed, and a later membership does not restore it", async () => {
    const maker = await member(app, owner, 1);
    const [first, other] = [await make(maker.token, "admin"), await make(owner.token, "admin")];
    const child = await make(first.api_key, "read:users");
    await app.call("PATCH", `/api/users/${maker.userUuid}`, { token: owner.token, body: { status: "inactive" } });
    expect([await get("/api/users", first.api_key), await get("/api/users", child.api_key)]).toEqual([
      "401 unauthorized",
      "401 unauthorized",
    ]);
    await app.call("PATCH", `/api/users/${maker.userUuid}`, { token: owner.token, body: { status: "active" } });
    expect(await get("/api/users", child.api_key)).toBe("401 unauthorized");
    expect([
      (await listed(first.key_id)).status,
      (await listed(child.key_id)).status,
      (await listed(other.key_id)).status,
    ]).toEqual(["revoked", "revoked", "active"]);
    const ended = (await auditOf(app, owner, "credential.revoked")).filter(
      ({ metadata }) => metadata["reason"] === "membership_inactive",
    );
    expect(ended.map(({ resource_id }) => resource_id).sort()).toEqual([first.key_id, child.key_id].sort());
    expect((await app.call("DELETE", `/api/users/${maker.userUuid}`, { token: owner.token })).status).toBe(204);
    const { token } = await invite(app, owner, maker.email, 1);
    expect((await app.call("POST", "/api/auth/invite/accept", { body: { token, ...newcomer() } })).status).toBe(200);
    expect([
      await get("/api/users", first.api_key),
      await get("/api/users", child.api_key),
      await get("/api/users", other.api_key),
    ]).toEqual(["401 unauthorized", "401 unauthorized", "200"]);
  });

  test("a key that is being created while its creator's membership ends is revoked too", async () => {
    const maker = await member(app, owner, 1);
    const held = await holding(app.databaseUrl);
    await held.run(
      "update memberships set status = 'removed', version = version + 1 where org_uuid = $1 and user_uuid = $2",
      [owner.org, maker.userUuid],
    );
    const late = app.call("POST", keys(), { token: maker.token, body: { name: "late", scopes: ["admin"] } });
    await held.waitedFor();
    await held.commit();
    expect(outcome(await late)).toBe("401 unauthorized");
  });
});

test("an API key administers the apps of its maker in its own organization only", async () => {
  const publisher = await founder(app);
  const { appId } = await publish(app, publisher.token);
  const { token } = await invite(app, owner, publisher.email, 1);
  const accepted = await app.call("POST", "/api/auth/invite/accept", { token: publisher.token, body: { token } });
  const { api_key: elsewhere } = await make(accepted.body.data.access_token as string, "admin");
  const own = await app.call("POST", `/api/admin/organizations/${publisher.org}/api-keys`, {
    token: publisher.token,
    body: { name: "ci", scopes: ["admin"] },
  });
  const administered = async (key: string) =>
    (await app.call("GET", "/api/auth/me", { token: key })).body.app_admin as string[];
  expect(await administered(own.body.api_key as string)).toEqual([appId]);
  expect(await administered(elsewhere)).toEqual([]);
});

test("a platform administrator's key loses the vault with their role of administrator", async () => {
  const host = await founder(app);
  const { token } = await invite(app, host, app.owner.email, 1);
  const { body } = await app.call("POST", "/api/auth/invite/accept", { token: await app.login(), body: { token } });
  const { access_token: guest, user_uuid: guestUuid } = body.data as Record<string, string>;
  const key = await app.call("POST", `/api/admin/organizations/${host.org}/api-keys`, {
    token: guest as string,
    body: { name: "ci", scopes: ["admin", "vault:write"] },
  });
  const write = async () =>
    outcome(
      await app.call("PUT", `/api/admin/organizations/${host.org}/secrets/x`, {
        token: key.body.api_key as string,
        body: { value: "x" },
      }),
    );
  expect(await write()).toBe("200");
  const role = await app.call("PUT", `/api/users/${guestUuid}/role`, { token: host.token, body: { role: "employee" } });
  expect(outcome(role)).toBe("200");
  expect(await write()).toBe("403 forbidden");
});

/** The form of a key with a secret that is none. */
function forged(keyId: string): string {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const body = `atr_dev_${keyId}_${"a".repeat(43)}`;
  const sum = crc32(body);
  return `${body}_${[5, 4, 3, 2, 1, 0].map((place) => digits[Math.floor(sum / 62 ** place) % 62]).join("")}`;
}

test("only an accepted API key counts as used", async () => {
  const { key_id: keyId, api_key: key } = await make(owner.token, "read:users");
  expect(await get("/api/users", forged(keyId))).toBe("401 unauthorized");
  expect((await listed(keyId)).last_used_at).toBeNull();
  expect(await get("/api/users", key)).toBe("200");
  expect(Date.parse((await listed(keyId)).last_used_at)).toBe(app.clock.now());
});

test("the end of a membership ends the member's keys in that organization, and none in another", async () => {
  const host = await founder(app);
  const someone = await member(app, host, 1);
  const further = await app.call("POST", "/api/organizations", {
    token: someone.token,
    body: { name: `Side of ${someone.email}` },
  });
  const keyOf = async (org: string, token: string): Promise<string> => {
    const body = { name: "ci", scopes: ["read:users"] };
    return (await app.call("POST", `/api/admin/organizations/${org}/api-keys`, { token, body })).body.api_key as string;
  };
  const keys = [
    await keyOf(host.org, someone.token),
    await keyOf(further.body.org_uuid as string, further.body.access_token as string),
  ];
  const statuses = () =>
    Promise.all(keys.map(async (token) => (await app.call("GET", "/api/auth/me", { token })).status));
  expect(await statuses()).toEqual([200, 200]);
  await app.call("DELETE", `/api/users/${someone.userUuid}`, { token: host.token });
  expect(await statuses()).toEqual([401, 200]);
});
