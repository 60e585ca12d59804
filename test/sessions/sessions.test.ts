import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, elevated, founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { signIn, works } from "./support.ts";

let app: TestApp;
let second: TestApp;
let owner: Somebody;
let worker: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
});
afterAll(async () => {
  await second.close();
  await app.close();
});
beforeEach(async () => {
  owner = await founder(app);
  worker = await member(app, owner);
  app.clock.advance(1_000);
});

const inventory = (org: string, query = ""): string => `/api/organizations/${org}/session-inventory${query}`;
const sidsOf = (body: { data: { session_id: string }[] }): string[] => body.data.map((session) => session.session_id);

describe("the inventory of an organization", () => {
  it("the inventory lists live sessions with the documented members, last seen first", async () => {
    const held = await signIn(app, worker);
    const { body, status } = await app.call("GET", inventory(owner.org), { token: owner.token });
    expect(status).toBe(200);
    expect(body).toMatchObject({ total: 3, limit: 50, offset: 0 });
    expect(Object.keys(body.data[0]).sort()).toEqual([
      "created_at",
      "device_uuid",
      "ip_address",
      "last_seen_at",
      "session_id",
      "user_agent",
      "user_uuid",
    ]);
    expect(body.data[0]).toMatchObject({
      session_id: held.sid,
      user_uuid: worker.userUuid,
      device_uuid: held.device,
      ip_address: "127.0.0.1",
    });
  });

  it("the inventory has filters for person and device, and pages", async () => {
    const first = await signIn(app, worker);
    app.clock.advance(10);
    const last = await signIn(app, worker);
    const list = async (query: string) =>
      (await app.call("GET", inventory(owner.org, query), { token: owner.token })).body;
    expect((await list(`?user_uuid=${worker.userUuid}`)).total).toBe(3);
    expect(sidsOf(await list(`?device_uuid=${first.device.toUpperCase()}`))).toEqual([first.sid]);
    expect(await list(`?device_uuid=${first.device}&user_uuid=${owner.userUuid}`)).toMatchObject({
      data: [],
      total: 0,
    });
    expect(sidsOf(await list(`?user_uuid=${worker.userUuid}&limit=1`))).toEqual([last.sid]);
    expect(sidsOf(await list(`?user_uuid=${worker.userUuid}&limit=1&offset=1`))).toEqual([first.sid]);
    expect(await list(`?user_uuid=&limit=1&offset=50`)).toMatchObject({ data: [], total: 4 });
  });

  it("the inventories of organization and device list live sessions, or those that ended within 30 days", async () => {
    const device = randomUUID();
    const held = await Promise.all(Array.from({ length: 4 }, () => signIn(app, worker, device)));
    const [revoked, left, , live] = held.map(({ sid }) => sid);
    await app.call("DELETE", inventory(owner.org, `/${revoked}`), { token: owner.token });
    app.clock.advance(10);
    await app.call("POST", "/api/auth/logout", { token: held[1]?.token });
    const lists = [inventory(owner.org), `/api/devices/${device}/session-inventory`];
    const read = async (status: string, by = owner.token) =>
      Promise.all(
        lists.map(async (path) => {
          const query = `?device_uuid=${device}&status=${status}`;
          const { body } = await app.call("GET", `${path}${query}`, { token: by });
          return sidsOf(body).toSorted();
        }),
      );
    const [ended, lives] = [
      [revoked, left].toSorted(),
      held
        .slice(2)
        .map(({ sid }) => sid)
        .toSorted(),
    ];
    expect(await read("ended")).toEqual([ended, ended]);
    for (const status of ["active", ""]) expect(await read(status)).toEqual([lives, lives]);
    for (const path of lists)
      expect(outcome(await app.call("GET", `${path}?status=revoked`, { token: owner.token }))).toBe(
        "400 validation_error",
      );
    await app.call("POST", `/api/devices/${device}/revoke-all`, {
      token: held[3]?.token,
      body: { exclude_current: true },
    });
    expect(await read("active")).toEqual([[live], [live]]);
    app.clock.advance(30 * 86_400_000 - 10);
    const { token } = await signIn(app, owner);
    expect((await read("ended", token)).map((sids) => sids.includes(left ?? ""))).toEqual([true, true]);
    expect((await read("ended", token)).map((sids) => sids.includes(revoked ?? ""))).toEqual([false, false]);
  });

  it.each(["?limit=0", "?limit=201", "?offset=10001", "?user_uuid=x", "?device_uuid=x"])(
    "refuses %s",
    async (query) => {
      expect(outcome(await app.call("GET", inventory(owner.org, query), { token: owner.token }))).toBe(
        "400 validation_error",
      );
    },
  );

  it("only admins of the organization see the inventory", async () => {
    const other = await founder(app);
    const { sid } = await signIn(app, worker);
    for (const [method, path] of [
      ["GET", inventory(owner.org)],
      ["DELETE", inventory(owner.org, `/${sid}`)],
      ["DELETE", inventory(owner.org)],
      ["POST", `/api/organizations/${owner.org}/revoke-all-sessions`],
    ] as const) {
      expect(outcome(await app.call(method, path, { token: worker.token })), path).toBe("403 forbidden");
      expect(outcome(await app.call(method, path, { token: other.token })), path).toBe("404 not_found");
      expect(outcome(await app.call(method, path, {})), path).toBe("401 unauthorized");
    }
    expect(outcome(await app.call("DELETE", inventory(other.org, `/${sid}`), { token: other.token }))).toBe(
      "404 not_found",
    );
    expect(await works(app, worker.token)).toBe(true);
  });
});

describe("revoking one session", () => {
  it("revoking a session ends it on every instance with all its tokens, and is recorded", async () => {
    const held = await signIn(app, worker);
    expect(await works(second, held.token)).toBe(true);
    expect((await app.call("DELETE", inventory(owner.org, `/${held.sid}`), { token: owner.token })).status).toBe(204);
    for (const instance of [second, app]) expect(await works(instance, held.token)).toBe(false);
    expect((await app.call("POST", "/api/auth/refresh", { body: { refresh_token: held.refreshToken } })).status).toBe(
      401,
    );
    expect(await works(app, worker.token)).toBe(true);
    expect(await auditOf(app, owner, "session.revoked")).toMatchObject([
      {
        outcome: "success",
        user_uuid: worker.userUuid,
        metadata: { session_id: held.sid, reason: "revoked" },
        actor: { id: owner.userUuid },
      },
    ]);
  });

  it("revoking an ended session returns already_revoked for 30 days, and not_found then", async () => {
    const revoked = await signIn(app, worker);
    const left = await signIn(app, worker);
    const path = (sid: string): string => inventory(owner.org, `/${sid}`);
    await app.call("DELETE", path(revoked.sid), { token: owner.token });
    await app.call("POST", "/api/auth/logout", { token: left.token });
    for (const { sid } of [revoked, left])
      expect(outcome(await app.call("DELETE", path(sid), { token: owner.token }))).toBe("409 already_revoked");
    expect(await auditOf(app, owner, "session.revoked&outcome=failure")).toMatchObject([
      { metadata: { code: "already_revoked" } },
      { metadata: { code: "already_revoked" } },
    ]);
    app.clock.advance(30 * 86_400_000 - 1);
    const later = await signIn(app, owner);
    expect(outcome(await app.call("DELETE", path(revoked.sid), { token: later.token }))).toBe("409 already_revoked");
    app.clock.advance(1);
    expect(outcome(await app.call("DELETE", path(revoked.sid), { token: later.token }))).toBe("404 not_found");
  });

  it("a session that was left to expire is listed as ended and already_revoked for 30 days too", async () => {
    const { sid, device } = await signIn(app, worker);
    const ofDevice = `/api/devices/${device}/session-inventory`;
    const outcomes = async (): Promise<unknown[]> => {
      const { token } = await signIn(app, owner);
      const answers = [inventory(owner.org, `/${sid}`), `${ofDevice}/${sid}`].map(async (path) =>
        outcome(await app.call("DELETE", path, { token })),
      );
      const { body } = await app.call("GET", inventory(owner.org, `?status=ended&device_uuid=${device}`), { token });
      return [...(await Promise.all(answers)), sidsOf(body)];
    };
    app.clock.advance(7 * 86_400_000);
    expect(await outcomes()).toEqual(["409 already_revoked", "409 already_revoked", [sid]]);
    app.clock.advance(30 * 86_400_000 - 1);
    expect(await outcomes()).toEqual(["409 already_revoked", "409 already_revoked", [sid]]);
    app.clock.advance(1);
    expect(await outcomes()).toEqual(["404 not_found", "404 not_found", []]);
  });

  it("revoking a session that a concurrent request revoked a moment later returns already_revoked", async () => {
    const { sid } = await signIn(app, worker);
    const revoke = () => app.call("DELETE", inventory(owner.org, `/${sid}`), { token: owner.token });
    expect((await revoke()).status).toBe(204);
    // A request that has waited for the other's lock compares with the time at which it began.
    app.clock.advance(-1);
    expect(outcome(await revoke())).toBe("409 already_revoked");
    app.clock.advance(1);
  });

  it("revoking returns 404 for an unknown id and 400 for a malformed one", async () => {
    expect(outcome(await app.call("DELETE", inventory(owner.org, `/${randomUUID()}`), { token: owner.token }))).toBe(
      "404 not_found",
    );
    expect(outcome(await app.call("DELETE", inventory(owner.org, "/x"), { token: owner.token }))).toBe(
      "400 invalid_uuid",
    );
    expect(outcome(await app.call("DELETE", inventory("x"), { token: owner.token }))).toBe("400 invalid_uuid");
  });

  it("one of fifty revocations of a session succeeds", async () => {
    const { sid } = await signIn(app, worker);
    const tries = Array.from({ length: 50 }, (_, at) =>
      (at % 2 === 0 ? app : second).call("DELETE", inventory(owner.org, `/${sid}`), { token: owner.token }),
    );
    const answers = (await Promise.all(tries)).map(outcome);
    expect(answers.filter((answer) => answer === "204")).toHaveLength(1);
    expect(answers.filter((answer) => answer === "409 already_revoked")).toHaveLength(49);
  });
});

describe.each([
  ["DELETE", (org: string) => inventory(org)],
  ["POST", (org: string) => `/api/organizations/${org}/revoke-all-sessions`],
] as const)("bulk revocation by %s", (method, path) => {
  it("bulk revocation requires elevation, with the challenge of RFC 9470", async () => {
    const answer = await app.call(method, path(owner.org), { token: owner.token });
    expect(outcome(answer)).toBe("403 step_up_required");
    expect(answer.headers.get("www-authenticate")).toContain('error="insufficient_user_authentication"');
    expect(await works(app, worker.token)).toBe(true);
  });

  it("bulk revocation ends every session of the organization, the caller's included, and no other", async () => {
    const other = await founder(app);
    const token = await elevated(app, owner.token);
    expect(await app.call(method, path(owner.org), { token })).toMatchObject({ status: 200, body: { revoked: 2 } });
    for (const dead of [token, owner.token, worker.token]) expect(await works(second, dead)).toBe(false);
    expect(await works(second, other.token)).toBe(true);
    const again = await signIn(app, owner);
    expect(await auditOf(app, { token: again.token, org: owner.org }, "session.bulk_revoked")).toMatchObject([
      { outcome: "success", metadata: { revoked: 2, exclude_current: false }, actor: { id: owner.userUuid } },
    ]);
  });

  it("bulk revocation can exclude the session of the presented token", async () => {
    const token = await elevated(app, owner.token);
    const elsewhere = await signIn(app, owner);
    expect((await app.call(method, path(owner.org), { token, body: { exclude_current: true } })).body).toEqual({
      revoked: 2,
    });
    expect(await works(second, elsewhere.token)).toBe(false);
    expect(await works(second, owner.token)).toBe(true);
    expect((await app.call(method, path(owner.org), { token, body: { exclude_current: true } })).body).toEqual({
      revoked: 0,
    });
  });
});
