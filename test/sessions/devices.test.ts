import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { TestApp } from "../support/app.ts";
import { auditOf, invite, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { signIn, startWithPeople, works } from "./support.ts";
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

describe("sessions on a device", () => {
  it("sessions on a device are shown to their person and to admins of their organization", async () => {
    const bobs = await signIn(app, bob, device);
    const sids = async (token: string) =>
      ((await get("session-inventory", token)).body.data as { session_id: string }[]).map((one) => one.session_id);
    expect(await sids(anns.token)).toEqual([anns.sid]);
    expect(await sids(bobs.token)).toEqual([bobs.sid]);
    expect(await sids(boss.token)).toEqual([anns.sid]);
    expect((await get("session-inventory", anns.token)).body).toMatchObject({
      total: 1,
      limit: 50,
      offset: 0,
      data: [{ device_uuid: device, user_uuid: ann.userUuid }],
    });
  });

  it("only their person and admins of their organization can end sessions on a device", async () => {
    const bobs = await signIn(app, bob, device);
    expect(outcome(await app.call("DELETE", url(`session-inventory/${bobs.sid}`), { token: anns.token }))).toBe(
      "404 not_found",
    );
    expect(
      outcome(await app.call("DELETE", url(`session-inventory/${anns.sid}`, randomUUID()), { token: anns.token })),
    ).toBe("404 not_found");
    const second = await signIn(app, ann, device);
    expect((await app.call("DELETE", url(`session-inventory/${second.sid}`), { token: anns.token })).status).toBe(204);
    expect(outcome(await app.call("DELETE", url(`session-inventory/${second.sid}`), { token: anns.token }))).toBe(
      "409 already_revoked",
    );
    expect((await app.call("DELETE", url(`session-inventory/${anns.sid}`), { token: boss.token })).status).toBe(204);
    expect([await works(app, anns.token), await works(app, second.token), await works(app, bobs.token)]).toEqual([
      false,
      false,
      true,
    ]);
    expect((await auditOf(app, boss, "session.revoked&outcome=success")).slice(0, 2)).toMatchObject([
      { metadata: { session_id: anns.sid, device_uuid: device } },
      { metadata: { session_id: second.sid, device_uuid: device } },
    ]);
  });

  it("all sessions on a device end at once, without elevation, the present one excluded on request", async () => {
    const [second, bobs] = [await signIn(app, ann, device), await signIn(app, bob, device)];
    const revoke = (token: string, body?: unknown) => app.call("POST", url("revoke-all"), { token, body });
    expect(await revoke(anns.token, { exclude_current: true })).toMatchObject({ status: 200, body: { revoked: 1 } });
    expect([await works(app, anns.token), await works(app, second.token)]).toEqual([true, false]);
    expect((await revoke(anns.token)).body).toEqual({ revoked: 1 });
    expect([await works(app, anns.token), await works(app, bobs.token), await works(app, ann.token)]).toEqual([
      false,
      true,
      true,
    ]);
    expect(outcome(await revoke(ann.token))).toBe("404 not_found");
    expect((await auditOf(app, boss, "session.bulk_revoked")).slice(0, 2)).toMatchObject([
      { metadata: { revoked: 1, exclude_current: false, device_uuid: device } },
      { metadata: { revoked: 1, exclude_current: true } },
    ]);
  });

  it("the end of all sessions on a device is recorded in each organization with the number of its own", async () => {
    const { token } = await invite(app, boss, bob.email);
    const accepted = await app.call("POST", "/api/auth/invite/accept", { body: { token, password } });
    expect(accepted.status).toBe(200);
    const atHome = await signIn(app, bob, device);
    for (let at = 0; at < 2; at++) await signIn(app, { ...bob, orgName: boss.orgName }, device);
    const revoke = await app.call("POST", url("revoke-all"), { token: atHome.token, body: { exclude_current: true } });
    expect(revoke.body).toEqual({ revoked: 2 });
    const newest = async (by: Somebody) => (await auditOf(app, by, "session.bulk_revoked"))[0];
    expect(await newest(boss)).toMatchObject({
      user_uuid: bob.userUuid,
      actor: { id: bob.userUuid },
      metadata: { revoked: 2, exclude_current: true, device_uuid: device },
    });
    const bobs = { token: atHome.token, org: bob.org };
    expect(await auditOf(app, bobs, "session.bulk_revoked")).toEqual([]);
    await app.call("POST", url("revoke-all"), { token: atHome.token, body: { exclude_current: true } });
    expect(await auditOf(app, bobs, "session.bulk_revoked")).toMatchObject([{ metadata: { revoked: 0 } }]);
    await signIn(app, { ...bob, orgName: boss.orgName }, device);
    app.clock.advance(10);
    expect((await app.call("POST", url("revoke-all"), { token: atHome.token })).body).toEqual({ revoked: 2 });
    expect((await newest(boss))?.metadata["revoked"]).toBe(1);
    bob = { ...bob, token: (await signIn(app, bob)).token };
    expect((await newest(bob))?.metadata["revoked"]).toBe(1);
  });

  it("every route of a device returns 404 to a caller without sessions or accounts on it", async () => {
    for (const [method, rest, body] of [
      ["GET", "session-inventory"],
      ["DELETE", `session-inventory/${anns.sid}`],
      ["POST", "revoke-all"],
      ["GET", "accounts"],
      ["POST", "accounts", { access_token: bob.token }],
      ["DELETE", `accounts/${randomUUID()}`],
      ["POST", "active-account", { account_id: randomUUID() }],
    ] as const) {
      expect(outcome(await app.call(method, url(rest), { token: bob.token, body })), rest).toBe("404 not_found");
      expect(outcome(await app.call(method, url(rest, "x"), { token: bob.token, body })), rest).toBe(
        "400 invalid_uuid",
      );
    }
    expect(await works(app, anns.token)).toBe(true);
  });
});
