import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import {
  auditOf,
  elevated,
  founder,
  invite,
  mailsTo,
  member,
  newcomer,
  outcome,
  password,
  tokenTo,
} from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { signIn, works } from "../sessions/support.ts";
import { codeAt } from "./support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" } });
});
afterAll(() => app.close());

const minutes = (count: number): void => app.clock.advance(count * 60_000);
const create = (token: string) => app.call("POST", "/api/v1/me/mfa/factors", { token, body: { factor_type: "totp" } });
const verify = (token: string, id: number, code: string) =>
  app.call("POST", `/api/v1/me/mfa/factors/${id}/verify`, { token, body: { code } });
const regenerate = (token: string) => app.call("POST", "/api/v1/me/mfa/recovery-codes/regenerate", { token });
const reset = (token: string, userUuid: string) => app.call("DELETE", `/api/users/${userUuid}/mfa-factors`, { token });
const subjects = async (email: string) => (await mailsTo(app, email)).map(({ subject }) => subject);

/** Enrols a factor in a session. */
async function enrol(token: string): Promise<{ id: number; secret: string }> {
  const { id, secret } = (await create(token)).body.data as { id: number; secret: string };
  expect((await verify(token, id, codeAt(secret, app.clock.now()))).status).toBe(200);
  return { id, secret };
}

/** A magic-link session: its token is good for a day. */
async function byLink(email: string): Promise<string> {
  const { body: sent } = await app.call("POST", "/api/auth/magic-link/send", { body: { email } });
  return (await app.call("POST", "/api/auth/magic-link/verify", { body: { token: sent.dev_token } })).body
    .access_token as string;
}

describe("a first factor", () => {
  it("a first factor is created and verified within 15 minutes of a sign-in, not of a refresh", async () => {
    const token = await byLink("old@first.test");
    const { body } = await create(token);
    app.clock.advance(900_001);
    const refused = await create(token);
    expect(outcome(refused)).toBe("403 step_up_required");
    expect(refused.headers.get("www-authenticate")).toContain('error="insufficient_user_authentication"');
    expect(outcome(await verify(token, body.data.id, codeAt(body.data.secret, app.clock.now())))).toBe(
      "403 step_up_required",
    );
    expect(outcome(await app.call("POST", "/api/v1/me/mfa/factors", { token, body: "{" }))).toBe(
      "403 step_up_required",
    );
    const who = await founder(app);
    const held = await signIn(app, who);
    minutes(10);
    const renewed = (await app.call("POST", "/api/auth/refresh", { body: { refresh_token: held.refreshToken } })).body
      .access_token as string;
    expect((await create(renewed)).status).toBe(201);
    minutes(6);
    const later = (await app.call("POST", "/api/auth/refresh", { body: { refresh_token: who.refreshToken } })).body
      .access_token as string;
    expect(outcome(await create(later))).toBe("403 step_up_required");
  });

  it("a first factor can follow a step-up of that age by mail or password, with either token", async () => {
    const { email } = await founder(app);
    const token = await byLink(email);
    minutes(20);
    const { body: challenge } = await app.call("POST", "/api/auth/step-up/challenge", {
      token,
      body: { method: "magic_link" },
    });
    const answer = { challenge_id: challenge.challenge_id, token: await tokenTo(app, email) };
    const { body } = await app.call("POST", "/api/auth/step-up/verify", { token, body: answer });
    minutes(14);
    expect((await create(token)).status).toBe(201);
    expect((await create(body.elevated_token as string)).status).toBe(201);
    minutes(2);
    expect(outcome(await create(token))).toBe("403 step_up_required");
  });

  it("a pending first factor can be deleted at any age of the sign-in", async () => {
    const token = await byLink("idle@first.test");
    const { id } = (await create(token)).body.data as { id: number };
    minutes(20);
    expect((await app.call("DELETE", `/api/v1/me/mfa/factors/${id}`, { token })).status).toBe(204);
  });
});

it("a first code that is sent twice at once asks nobody for a step-up", async () => {
  const { token, sid } = await signIn(app, await founder(app));
  const { id, secret } = (await create(token)).body.data as { id: number; secret: string };
  const held = await holding(app.databaseUrl);
  await held.run("lock table mfa_factors in access exclusive mode");
  const second = verify(token, id, codeAt(secret, app.clock.now()));
  await held.waitedFor();
  // What the first request commits while the second is between two statements of its check.
  await held.run("update mfa_factors set status = 'active', activated_at = now() where id = $1", [id]);
  const at = new Date(app.clock.now());
  await held.run("update sessions set second_factor_at = $2 where uuid = $1", [sid, at]);
  await held.commit();
  expect(outcome(await second)).toBe("404 not_found");
});

it("every change of factors and recovery codes is mailed to the person and recorded", async () => {
  const who = await founder(app);
  const session = await signIn(app, who);
  const { id } = await enrol(session.token);
  expect((await regenerate(session.token)).status).toBe(200);
  expect((await app.call("DELETE", `/api/v1/me/mfa/factors/${id}`, { token: session.token })).status).toBe(204);
  expect((await subjects(who.email)).slice(-3)).toEqual([
    "A second factor was added",
    "New recovery codes were made",
    "A second factor was removed",
  ]);
  for (const { text } of (await mailsTo(app, who.email)).slice(-3)) expect(text).toContain(`-- \n${who.orgName}`);
  const [event] = await auditOf(app, { token: session.token, org: who.org }, "recovery_codes.regenerated");
  expect(event).toMatchObject({
    outcome: "success",
    actor: { type: "user", id: who.userUuid },
    resource_id: who.userUuid,
  });
});

describe("removal of a member's factors by an administrator", () => {
  let boss: Somebody;
  let power: string;
  beforeAll(async () => {
    boss = await founder(app);
    boss = { ...boss, token: (await signIn(app, boss)).token };
    power = await elevated(app, boss.token);
  });

  it("a member without factors signs in by one factor, and earlier sessions and tokens have ended", async () => {
    const lost = await member(app, boss);
    const session = await signIn(app, lost);
    await enrol(session.token);
    await regenerate(session.token);
    expect(outcome(await reset(boss.token, lost.userUuid))).toBe("403 step_up_required");
    expect((await reset(power, lost.userUuid)).status).toBe(204);
    expect([await works(app, session.token), await works(app, lost.token)]).toEqual([false, false]);
    const again = await signIn(app, lost);
    const { body } = await app.call("GET", "/api/auth/mfa/status", { token: again.token });
    expect(body).toEqual({ has_active_totp: false, has_recovery_codes: false });
    expect((await subjects(lost.email)).at(-1)).toBe("Your second factors were removed");
    expect((await auditOf(app, boss, "mfa.reset"))[0]).toMatchObject({
      outcome: "success",
      actor: { id: boss.userUuid },
      resource_id: lost.userUuid,
      metadata: { user_uuid: lost.userUuid, factors: 1 },
    });
    for (const [type, reason] of [
      ["mfa.disabled", "reset"],
      ["session.bulk_revoked", "mfa_reset"],
    ] as const)
      expect((await auditOf(app, boss, type))[0], type).toMatchObject({
        user_uuid: lost.userUuid,
        actor: { type: "user", id: boss.userUuid },
        metadata: { reason },
      });
    expect((await reset(power, lost.userUuid)).status).toBe(204);
  });

  it("an administrator cannot remove the factors of a member of another organization too", async () => {
    const shared = await member(app, boss);
    const elsewhere = await founder(app);
    const { token } = await invite(app, elsewhere, shared.email);
    const accepted = await app.call("POST", "/api/auth/invite/accept", { body: { token, ...newcomer(), password } });
    expect(accepted.status).toBe(200);
    const session = await signIn(app, shared);
    await enrol(session.token);
    expect(outcome(await reset(power, shared.userUuid))).toBe("403 forbidden");
    expect(await works(app, session.token)).toBe(true);
    expect((await app.call("DELETE", `/api/users/${shared.userUuid}`, { token: elsewhere.token })).status).toBe(204);
    expect((await reset(power, shared.userUuid)).status).toBe(204);
  });

  it("an administrator cannot remove the factors of an owner, unless they are one, nor of a stranger", async () => {
    const admin = await member(app, boss, 1);
    expect(outcome(await reset(await elevated(app, admin.token), boss.userUuid))).toBe("403 forbidden");
    const stranger = await founder(app);
    expect(outcome(await reset(power, stranger.userUuid))).toBe("404 user_not_found");
    expect(outcome(await reset(power, "x"))).toBe("400 invalid_uuid");
    expect((await reset(power, boss.userUuid)).status).toBe(204);
    expect(await works(app, boss.token)).toBe(false);
    boss = { ...boss, token: (await signIn(app, boss)).token };
  });

  it("an administrator cannot remove their own factors by a password alone", async () => {
    const admin = await member(app, boss, 1);
    const session = await signIn(app, admin);
    const { secret } = await enrol(session.token);
    minutes(14);
    const own = await elevated(app, session.token);
    minutes(2);
    expect(outcome(await reset(own, admin.userUuid))).toBe("403 step_up_required");
    const held = (await app.call("POST", "/api/auth/refresh", { body: { refresh_token: session.refreshToken } })).body
      .access_token as string;
    const { body: challenge } = await app.call("POST", "/api/auth/step-up/challenge", {
      token: held,
      body: { method: "totp" },
    });
    const answer = { challenge_id: challenge.challenge_id, code: codeAt(secret, app.clock.now()) };
    const { body } = await app.call("POST", "/api/auth/step-up/verify", { token: held, body: answer });
    expect((await reset(body.elevated_token as string, admin.userUuid)).status).toBe(204);
  });

  it("only administrators, and no keys, can remove a member's factors", async () => {
    const { token } = await signIn(app, boss);
    const plain = await member(app, { ...boss, token });
    expect(outcome(await reset(await elevated(app, plain.token), plain.userUuid))).toBe("403 forbidden");
    const { body } = await app.call("POST", `/api/admin/organizations/${boss.org}/api-keys`, {
      token,
      body: { name: "robot", scopes: ["admin"] },
    });
    const refused = await reset(body.api_key as string, plain.userUuid);
    expect(outcome(refused)).toBe("403 step_up_required");
    expect(refused.body.message).toContain("no key and no service identity");
  });
});
