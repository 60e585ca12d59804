import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, founder, invite, mailsTo, member, newcomer, outcome, password, tokenTo } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { signIn, works } from "../sessions/support.ts";

let app: TestApp;
let second: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  owner = await founder(app);
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const other = "quite another passphrase";
const post = (path: string, body: unknown) => app.call("POST", `/api/auth/${path}`, { body });
const login = (who: Somebody, secret: string) =>
  post("login", { email: who.email, password: secret, org_name: who.orgName });
const change = (token: string, current: string, wanted: string) =>
  app.call("PUT", "/api/profile/password", { token, body: { current_password: current, new_password: wanted } });

/** Asks for a reset and takes the token out of the mail. */
async function resetToken(email: string): Promise<string> {
  expect((await post("password/forgot", { email })).status).toBe(202);
  return tokenTo(app, email);
}

/** Attempts to use what could sign a person in by mail at this moment, for later. */
async function underWay(email: string): Promise<(() => Promise<number>)[]> {
  const { body: link } = await post("magic-link/send", { email });
  await post("otp", { email });
  const code = /^ {4}(\d{6})$/mu.exec((await mailsTo(app, email)).at(-1)?.text ?? "")?.[1] ?? "";
  const reset = await resetToken(email);
  return [
    async () => (await post("magic-link/verify", { token: link.dev_token })).status,
    async () => (await post("otp/verify", { email, code })).status,
    async () => (await post("password/reset", { token: reset, password: other })).status,
  ];
}

describe("a forgotten password", () => {
  it("a request for a new password sends a mail, with the same response for unknown addresses", async () => {
    const known = await post("password/forgot", { email: owner.email });
    const unknown = await post("password/forgot", { email: "nobody@doors.test" });
    expect([known.status, known.text, unknown.status, unknown.text]).toEqual([202, unknown.text, 202, known.text]);
    expect((await mailsTo(app, owner.email)).at(-1)?.text).toMatch(
      /http:\/\/atrium\.test\/reset-password#token=[\w-]{43}\n/u,
    );
    const [mail] = await mailsTo(app, "nobody@doors.test");
    expect(mail?.text).toContain("no account has it");
    expect(mail?.text).not.toContain("token");
    for (const email of ["", "a@b.test, c@d.test", "a@b.test\r\nBcc: c@d.test"])
      expect(outcome(await post("password/forgot", { email }))).toBe("400 validation_error");
  });

  it("a reset token sets a password once, and ends every session, link, code and reset token", async () => {
    const who = await member(app, owner);
    const held = await signIn(app, who);
    const ways = await underWay(who.email);
    const token = await resetToken(who.email);
    expect((await post("password/reset", { token, password: other })).status).toBe(204);
    for (const dead of [who.token, held.token]) expect(await works(second, dead)).toBe(false);
    expect(outcome(await post("refresh", { refresh_token: held.refreshToken }))).toBe("401 unauthorized");
    expect(await Promise.all(ways.map((way) => way()))).toEqual([401, 401, 400]);
    expect([(await login(who, password)).status, (await login(who, other)).status]).toEqual([401, 200]);
    expect(outcome(await post("password/reset", { token, password: other }))).toBe("400 reset_expired");
    expect((await auditOf(app, owner, "user.updated"))[0]).toMatchObject({
      outcome: "success",
      user_uuid: who.userUuid,
      metadata: { password: "reset" },
    });
  });

  it("a wrong, expired or foreign token does not set a password", async () => {
    const token = await resetToken(owner.email);
    const { body: link } = await post("magic-link/send", { email: owner.email });
    for (const bad of ["x", link.dev_token as string, token.slice(1)])
      expect(outcome(await post("password/reset", { token: bad, password: other }))).toBe("400 reset_expired");
    expect(outcome(await post("password/reset", { password: other }))).toBe("400 validation_error");
    app.clock.advance(30 * 60_000);
    expect(outcome(await post("password/reset", { token, password: other }))).toBe("400 reset_expired");
    owner.token = (await signIn(app, owner)).token;
  });

  it("a password that breaks the rules is refused and leaves the reset token valid", async () => {
    const who = await member(app, owner);
    const token = await resetToken(who.email);
    for (const bad of ["short", "password", who.email.toUpperCase(), who.orgName.padEnd(8)]) {
      expect(await post("password/reset", { token, password: bad }), bad).toMatchObject({
        status: 400,
        body: { code: "validation_error", errors: [{ field: "password" }] },
      });
    }
    expect((await post("password/reset", { token, password: other })).status).toBe(204);
  });

  it("one of fifty parallel resets succeeds", async () => {
    const who = await member(app, owner);
    const token = await resetToken(who.email);
    const uses = Array.from({ length: 50 }, (_, at) =>
      (at % 2 === 0 ? app : second).call("POST", "/api/auth/password/reset", {
        body: { token, password: `${other} ${at}` },
      }),
    );
    const outcomes = (await Promise.all(uses)).map(outcome);
    expect(outcomes.filter((one) => one === "204")).toHaveLength(1);
    expect(outcomes.filter((one) => one !== "204" && one !== "400 reset_expired" && one !== "503 unavailable")).toEqual(
      [],
    );
  });

  it("a reset proves the mailbox and ends the credentials of an unproven sign-up", async () => {
    const stranger = await founder(app);
    expect((await post("password/reset", { token: await resetToken(stranger.email), password: other })).status).toBe(
      204,
    );
    expect(await works(app, stranger.token)).toBe(false);
    expect((await login(stranger, other)).status).toBe(200);
  });
});

describe("PUT /api/profile/password", () => {
  it("a password change ends every session but the present one, and links, codes and reset tokens", async () => {
    const who = await member(app, owner);
    const [here, elsewhere] = [await signIn(app, who), await signIn(app, who)];
    const ways = await underWay(who.email);
    expect((await change(here.token, password, other)).status).toBe(204);
    expect([
      await works(second, here.token),
      await works(second, elsewhere.token),
      await works(second, who.token),
    ]).toEqual([true, false, false]);
    expect((await post("refresh", { refresh_token: here.refreshToken })).status).toBe(200);
    expect(await Promise.all(ways.map((way) => way()))).toEqual([401, 401, 400]);
    expect([(await login(who, password)).status, (await login(who, other)).status]).toEqual([401, 200]);
    const events = await auditOf(app, owner, "user.updated");
    expect(events[0]).toMatchObject({
      outcome: "success",
      metadata: { password: "changed" },
      actor: { id: who.userUuid },
    });
    expect((await auditOf(app, owner, "session.bulk_revoked"))[0]).toMatchObject({
      user_uuid: who.userUuid,
      actor: { type: "user", id: who.userUuid, email: who.email },
      metadata: { revoked: 2, reason: "password_changed" },
    });
  });

  it("a password change ends a step-up that waits for a mail", async () => {
    const who = await member(app, owner);
    const { body: challenge } = await app.call("POST", "/api/auth/step-up/challenge", {
      token: who.token,
      body: { method: "magic_link" },
    });
    const mailed = (await mailsTo(app, who.email)).at(-1)?.text ?? "";
    const token = /token=([\w-]+)/u.exec(mailed)?.[1] ?? /\b([\w-]{43})\b/u.exec(mailed)?.[1] ?? "";
    await change(who.token, password, other);
    expect(
      outcome(
        await app.call("POST", "/api/auth/step-up/verify", {
          token: who.token,
          body: { challenge_id: challenge.challenge_id, token },
        }),
      ),
    ).toBe("410 challenge_gone");
  });

  it("a password change requires the present password and a new one that keeps the rules", async () => {
    const who = await member(app, owner);
    expect(outcome(await change(who.token, "wrong password", other))).toBe("400 invalid_password");
    for (const bad of ["short", "password1", who.email]) {
      expect(await change(who.token, password, bad), bad).toMatchObject({
        status: 400,
        body: { code: "validation_error", errors: [{ field: "new_password" }] },
      });
    }
    expect(outcome(await change("", password, other))).toBe("401 unauthorized");
    expect((await login(who, password)).status).toBe(200);
    expect((await auditOf(app, owner, "user.updated&outcome=failure"))[0]).toMatchObject({
      metadata: { code: "invalid_password" },
    });
  });

  it("the name of an organization of the person is no password, at a change, a reset and an acceptance", async () => {
    const host = await founder(app, "Night Owl Society");
    const who = await member(app, host);
    const further = { token: who.token, body: { name: "Early Bird Society" } };
    expect((await app.call("POST", "/api/organizations", further)).status).toBe(201);
    const refusal = (field: string) => ({ status: 400, body: { errors: [{ field, code: "equals_organization" }] } });
    for (const name of ["night owl SOCIETY", "Early Bird Society"]) {
      expect(await change(who.token, password, name)).toMatchObject(refusal("new_password"));
      const token = await resetToken(who.email);
      expect(await post("password/reset", { token, password: name })).toMatchObject(refusal("password"));
    }
    const { token } = await invite(app, host, "fresh@owls.test");
    const acceptance = { token, ...newcomer(), password: "Night Owl Society" };
    expect(await post("invite/accept", acceptance)).toMatchObject(refusal("password"));
  });

  it("a password of spaces alone is accepted at a change and at a reset, unless it is too short", async () => {
    const who = await member(app, owner);
    expect(outcome(await change(who.token, password, " ".repeat(7)))).toBe("400 validation_error");
    expect((await change(who.token, password, " ".repeat(8))).status).toBe(204);
    expect((await login(who, " ".repeat(8))).status).toBe(200);
    const token = await resetToken(who.email);
    expect((await post("password/reset", { token, password: " ".repeat(9) })).status).toBe(204);
    expect((await login(who, " ".repeat(9))).status).toBe(200);
  });

  it("one of two concurrent password changes succeeds", async () => {
    const who = await member(app, owner);
    const answers = await Promise.all([
      change(who.token, password, `${other} one`),
      change(who.token, password, `${other} two`),
    ]);
    expect(answers.map(outcome).toSorted()).toEqual(["204", "400 invalid_password"]);
  });
});
