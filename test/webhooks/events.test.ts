import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { codeAt } from "../mfa/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder, newcomer, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";
import type { Receiver } from "./receiver.ts";

let app: TestApp;
let hired = 0;
let owner: Somebody;
let other: Somebody;
let ours: Receiver;
let theirs: Receiver;
beforeAll(async () => {
  app = await startApp({
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" },
  });
  [owner, other] = [await founder(app), await founder(app)];
  [ours, theirs] = [await startReceiver(), await startReceiver()];
  for (const [{ token }, { url }] of [
    [owner, ours],
    [other, theirs],
  ] as const) {
    expect((await app.call("POST", "/api/v2/webhooks", { token, body: { url, events: ["*"] } })).status).toBe(201);
  }
});
afterAll(async () => {
  await app.close();
  await Promise.all([ours.close(), theirs.close()]);
});
beforeEach(() => {
  ours.got.length = 0;
});

const call = async (method: string, path: string, body?: unknown, token: string | undefined = owner.token) => {
  const answer = await app.call(method, path, { token: token || undefined, body });
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300);
  return answer.body;
};
/** Somebody new in our organization. The worker mails what invites them. */
async function member(roleId = 3): Promise<Somebody> {
  const email = `hired${++hired}@people.test`;
  await call("POST", `/api/admin/organizations/${owner.org}/invitations`, { email, role_id: roleId });
  const token = /token=([\w-]+)/u.exec((await app.mailTo(email)).text)?.[1];
  const { data } = await call("POST", "/api/auth/invite/accept", { token, ...newcomer() }, "");
  return {
    email,
    userUuid: data.user_uuid,
    org: owner.org,
    orgName: owner.orgName,
    token: data.access_token,
    refreshToken: data.refresh_token,
  };
}
const login = ({ email, orgName }: Somebody) => app.login(email, password, orgName);

/** What a receiver heard since the test began, by type: all that was sent before a test event that is sent now. */
async function heard(receiver = ours, by = owner): Promise<Record<string, Record<string, unknown>[]>> {
  const { data } = await call("GET", "/api/v2/webhooks", undefined, by.token);
  await call("POST", `/api/v2/webhooks/${data[0].webhook_id}/test`, undefined, by.token);
  await receiver.waitFor(1, ({ event }) => event.type === "webhook.test");
  for (let attempt = 0; attempt < 4_800; attempt++) {
    if (
      (await call("GET", `/api/v2/webhooks/${data[0].webhook_id}/deliveries?status=pending`, undefined, by.token))
        .total === 0
    )
      break;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  const events = receiver.got.map(({ event }) => event).filter(({ type }) => type !== "webhook.test");
  expect(new Set(events.map(({ org_uuid }) => org_uuid).concat(by.org))).toEqual(new Set([by.org]));
  return Object.fromEntries(
    events.map(({ type }) => [type, events.filter((event) => event.type === type).map((event) => event.data)]),
  );
}

describe("people", () => {
  it("accepting an invitation sends user.created with the role", async () => {
    const { userUuid } = await member(2);
    expect(await heard()).toEqual({
      "user.created": [{ user_uuid: userUuid, role_id: 2, is_owner: false, status: "active" }],
    });
  });

  it("joining by mail domain sends user.created once", async () => {
    await call("PATCH", `/api/organizations/${owner.org}`, { jit_domains: ["joins.test"] });
    const enter = async () => {
      const sent = await call("POST", "/api/auth/magic-link/send", { email: "jo@joins.test", org_uuid: owner.org });
      return (await call("POST", "/api/auth/magic-link/verify", { token: sent.dev_token })).user.user_uuid as string;
    };
    const userUuid = await enter();
    expect(await enter()).toBe(userUuid);
    expect(await heard()).toEqual({
      "user.created": [{ user_uuid: userUuid, role_id: 3, is_owner: false, status: "active" }],
    });
  });

  it("changing a profile sends user.updated only when something changes", async () => {
    const somebody = await member();
    for (const body of [{ first_name: "Mia", phone: "+4915112345678" }, { first_name: "Mia" }])
      await call("PUT", "/api/profile", body, somebody.token);
    expect((await heard())["user.updated"]).toEqual([
      { user_uuid: somebody.userUuid, changed: ["first_name", "phone"] },
    ]);
  });

  it("changing, deactivating, reactivating and removing a member sends their events and those of their sessions", async () => {
    const { userUuid, email } = await member();
    const state = { user_uuid: userUuid, email, role: "manager", role_id: 2, is_owner: false };
    await call("PUT", `/api/users/${userUuid}/role`, { role: "manager" });
    await call("PUT", `/api/users/${userUuid}/role`, { role: "manager" });
    await call("PATCH", `/api/users/${userUuid}`, { status: "inactive" });
    await call("PATCH", `/api/users/${userUuid}`, { status: "active" });
    await call("DELETE", `/api/users/${userUuid}`);
    expect(await heard()).toEqual({
      "user.created": [expect.objectContaining({ user_uuid: userUuid })],
      "role.assigned": [{ ...state, status: "active" }],
      "user.deactivated": [{ ...state, status: "inactive" }],
      "session.revoked": [
        { revoked: 1, session_ids: [expect.any(String)], user_uuid: userUuid, reason: "membership_inactive" },
      ],
      "user.updated": [{ ...state, status: "active" }],
      "user.deleted": [{ ...state, status: "removed" }],
    });
  });
});

describe("a role", () => {
  it("changing the permissions of a role sends role.updated", async () => {
    const [first, second] = (await call("GET", "/api/roles/permissions")).data as { id: number; name: string }[];
    const { data: role } = await call("POST", "/api/v2/products/atrium/roles", {
      name: "Clerk",
      permissions: [{ id: first?.id }],
    });
    for (let time = 0; time < 2; time++)
      await call("PUT", `/api/roles/${role.id}/permissions`, { permissions: [first?.id, second?.id] });
    expect(await heard()).toEqual({
      "role.updated": [{ role_id: role.id, name: "Clerk", permissions: [first?.name, second?.name] }],
    });
  });
});

describe("sessions", () => {
  it("sessions that end by logout or by an administrator send one event each", async () => {
    const somebody = await member();
    const again = await login(somebody);
    const { data } = await call(
      "GET",
      `/api/organizations/${owner.org}/session-inventory?user_uuid=${somebody.userUuid}`,
    );
    await call("POST", "/api/auth/logout", undefined, again);
    const { data: left } = await call(
      "GET",
      `/api/organizations/${owner.org}/session-inventory?user_uuid=${somebody.userUuid}`,
    );
    await call("DELETE", `/api/organizations/${owner.org}/session-inventory/${left[0].session_id}`);
    const out = data.find(({ session_id: id }: { session_id: string }) => id !== left[0].session_id).session_id;
    const told = (await heard())["session.revoked"];
    expect(told).toHaveLength(2);
    expect(told).toEqual(
      expect.arrayContaining([
        { session_id: out, user_uuid: somebody.userUuid, reason: "logout" },
        { session_id: left[0].session_id, user_uuid: somebody.userUuid, reason: "revoked" },
      ]),
    );
  });

  it("sessions that end together send one event to each organization", async () => {
    const somebody = await member();
    await call("POST", "/api/organizations", { name: `${somebody.email} alone` }, somebody.token);
    const [kept] = [await login(somebody), await login(somebody)];
    await call(
      "PUT",
      "/api/profile/password",
      { current_password: password, new_password: "another long enough one" },
      kept,
    );
    const [told, ...more] = (await heard())["session.revoked"] ?? [];
    expect(more).toEqual([]);
    expect(told).toMatchObject({ revoked: 2, reason: "password_changed", user_uuid: somebody.userUuid });
    expect(told?.["session_ids"]).toHaveLength(2);
    ours.got.length = 0;
    const strong = await elevated(app, await login(owner));
    const { revoked } = await call(
      "POST",
      `/api/organizations/${owner.org}/revoke-all-sessions`,
      { exclude_current: true },
      strong,
    );
    owner = { ...owner, token: await login(owner) };
    const { "session.revoked": all = [], ...rest } = await heard();
    expect(rest).toEqual({});
    expect(all).toEqual([{ reason: "bulk_revoked", revoked, session_ids: expect.any(Array) }]);
    expect(all[0]?.["session_ids"]).toHaveLength(revoked);
  });
});

describe("second factors", () => {
  it("enrolling and disabling a second factor sends an event", async () => {
    const somebody = await member();
    const factor = async () =>
      (await call("POST", "/api/v1/me/mfa/factors", { factor_type: "totp" }, somebody.token)).data as {
        id: number;
        secret: string;
      };
    const { id, secret } = await factor();
    await call("POST", `/api/v1/me/mfa/factors/${id}/verify`, { code: codeAt(secret, Date.now()) }, somebody.token);
    await call("DELETE", `/api/v1/me/mfa/factors/${(await factor()).id}`, undefined, somebody.token);
    await call("DELETE", `/api/v1/me/mfa/factors/${id}`, undefined, somebody.token);
    const told = { factor_id: id, factor_type: "totp", user_uuid: somebody.userUuid };
    expect(await heard()).toMatchObject({ "mfa.enrolled": [told], "mfa.disabled": [told] });
  });
});

describe("another organization", () => {
  it("another organization receives only the event of its own deletion", async () => {
    expect(await heard(theirs, other)).toEqual({});
    theirs.got.length = 0;
    await call("DELETE", `/api/organizations/${other.org}`, undefined, await elevated(app, other.token));
    await theirs.waitFor(1);
    // What is sent to us after that would have been overtaken by nothing that was sent to them before it.
    expect(await heard()).toEqual({});
    const told = theirs.got.map(({ event }) => [event.type, event.org_uuid, event.data]);
    expect(told).toEqual([["organization.deleted", other.org, { org_uuid: other.org, name: other.orgName }]]);
  });
});
