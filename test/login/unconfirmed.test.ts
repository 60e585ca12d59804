import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { codeAt } from "../mfa/support.ts";
import { works } from "../sessions/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { auditOf, elevated, founder, invite, mailsTo, member, outcome, password, tokenTo } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

const { log, deadlocks } = watchDeadlocks();
let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" }, log });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock, log });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const post = (path: string, body: unknown, token?: string) => app.call("POST", path, { body, token });

async function openLink(email: string, extra: object = {}) {
  const sent = await post("/api/auth/magic-link/send", { email, ...extra });
  return post("/api/auth/magic-link/verify", { token: sent.body.dev_token });
}

async function openCode(email: string) {
  await post("/api/auth/otp", { email });
  const code = /^ {4}(\d{6})$/mu.exec((await mailsTo(app, email)).at(-1)?.text ?? "")?.[1];
  return post("/api/auth/otp/verify", { email, code });
}

async function reset(email: string, wanted = "another long enough one") {
  await post("/api/auth/password/forgot", { email });
  return post("/api/auth/password/reset", { token: await tokenTo(app, email), password: wanted });
}

/** The token of the disown link in the newest mail to an address. */
async function disownToken(email: string): Promise<string> {
  return /\/disown#token=([\w-]+)/u.exec((await mailsTo(app, email)).at(-1)?.text ?? "")?.[1] ?? "";
}

/** Adds an active factor to the account of a token. Returns a function that makes fresh codes of it. */
async function enrol(token: string): Promise<() => string> {
  const { body } = await post("/api/v1/me/mfa/factors", { factor_type: "totp" }, token);
  const { id, secret } = body.data as { id: number; secret: string };
  expect(
    (await post(`/api/v1/me/mfa/factors/${id}/verify`, { code: codeAt(secret, app.clock.now()) }, token)).status,
  ).toBe(200);
  return () => {
    app.clock.advance(30_000);
    return codeAt(secret, app.clock.now());
  };
}

/** An unconfirmed account with everything that can act for it or for its organization. */
async function equipped() {
  const who = await founder(app);
  const { body: key } = await post(
    `/api/admin/organizations/${who.org}/api-keys`,
    { name: "k", scopes: ["admin"] },
    who.token,
  );
  const { body: scim } = await post(`/api/admin/organizations/${who.org}/scim-tokens`, {}, who.token);
  const { body: webhook } = await post(
    "/api/v2/webhooks",
    { url: "https://hooks.example.com/x", events: ["*"] },
    who.token,
  );
  const invited = await invite(app, who, `${randomUUID()}@guests.test`, 1);
  return {
    ...who,
    key: key.api_key as string,
    scimId: scim.token_id as string,
    webhookId: webhook.webhook_id as string,
    invited,
  };
}

/** What of an account still acts. */
async function acting(who: Awaited<ReturnType<typeof equipped>>) {
  const [session, key] = [await works(app, who.token), await works(app, who.key)];
  const login = (await post("/api/auth/login", { email: who.email, password, org_name: who.orgName })).status === 200;
  const [scim] = await runSql<{ living: boolean }>(
    app.databaseUrl,
    `select revoked_at is null as living from scim_tokens where token_id = '${who.scimId}'`,
  );
  const [webhook] = await runSql<{ living: boolean }>(
    app.databaseUrl,
    `select ended_at is null as living from webhooks where webhook_id = '${who.webhookId}'`,
  );
  const invitation = (await app.call("GET", `/api/auth/invite/${who.invited.token}`)).status === 200;
  return Object.entries({ session, key, login, scim: scim?.living, webhook: webhook?.living, invitation })
    .filter(([, on]) => on === true)
    .map(([name]) => name);
}

const everything = ["session", "key", "login", "scim", "webhook", "invitation"];

describe("the first proof of an unconfirmed address", () => {
  it.each([
    ["by magic link", openLink],
    ["by code", openCode],
    ["by password reset", reset],
  ])("the first proof by %s ends the credentials made with the account", async (_how, prove) => {
    const who = await equipped();
    expect(await acting(who)).toEqual(everything);
    expect((await prove(who.email)).status).toBeLessThan(300);
    expect(await acting(who)).toEqual([]);
    const mine = await openLink(who.email);
    const log = await auditOf(app, { org: who.org, token: mine.body.access_token }, "credential.revoked");
    expect(log.map(({ metadata }) => [metadata["kind"], metadata["reason"]]).toSorted()).toEqual([
      ["api_key", "mailbox_proven"],
      ["scim_token", "mailbox_proven"],
    ]);
    expect(await auditOf(app, { org: who.org, token: mine.body.access_token }, "email.confirmed")).toHaveLength(1);
  });

  it("a proof by the link of the sign-up ends nothing, and neither does a later proof", async () => {
    const who = await equipped();
    expect((await post("/api/auth/email/confirm", { token: await confirmToken(who.email) })).status).toBe(204);
    await openLink(who.email);
    expect(await acting(who)).toEqual(everything);
  });

  it("the first proof does not change an organization that has another owner", async () => {
    const who = await equipped();
    const other = await member(app, who, 1);
    const owner = await elevated(app, who.token);
    expect(
      (await app.call("PATCH", `/api/users/${other.userUuid}`, { token: owner, body: { is_owner: true } })).status,
    ).toBe(200);
    await openLink(who.email);
    expect(await acting(who)).toEqual(["scim", "webhook", "invitation"]);
  });

  it("the first proof keeps the factor, every sign-in asks for it, and it counts once", async () => {
    const who = await equipped();
    const code = await enrol(who.token);
    for (const prove of [openLink, openCode])
      expect((await prove(who.email)).body).toMatchObject({ mfa_required: true });
    expect(await acting(who)).toEqual([]);
    expect((await reset(who.email, "mine and long enough")).status).toBe(204);
    await openLink(who.email);
    const login = await post("/api/auth/login", {
      email: who.email,
      password: "mine and long enough",
      org_name: who.orgName,
    });
    expect(login.body).toMatchObject({ mfa_required: true });
    const passed = await post("/api/auth/mfa/totp/challenge", { mfa_token: login.body.mfa_token, code: code() });
    expect(passed.status).toBe(200);
    expect(await auditOf(app, { org: who.org, token: passed.body.access_token }, "email.confirmed")).toHaveLength(1);
    expect(outcome(await post("/api/auth/email/disown", { token: await disownToken(who.email) }))).toBe("409 conflict");
  });

  it("the first proof also ends what a request in flight creates", async () => {
    for (let round = 0; round < 5; round++) {
      const who = await equipped();
      const { body: link } = await post("/api/auth/magic-link/send", { email: who.email });
      const making = [0, 1, 2].flatMap(() => [
        second.call("POST", `/api/admin/organizations/${who.org}/api-keys`, {
          token: who.key,
          body: { name: "late", scopes: ["admin"] },
        }),
        second.call("POST", `/api/admin/organizations/${who.org}/scim-tokens`, { token: who.token, body: {} }),
        second.call("POST", `/api/admin/organizations/${who.org}/invitations`, {
          token: who.token,
          body: { email: `${randomUUID()}@guests.test`, role_id: 1 },
        }),
      ]);
      const [opened] = await Promise.all([post("/api/auth/magic-link/verify", { token: link.dev_token }), ...making]);
      expect(opened.status).toBe(200);
      const keys = await runSql(
        app.databaseUrl,
        `select 1 from api_keys where org_uuid = '${who.org}' and revoked_at is null`,
      );
      expect(keys).toEqual([]);
      const scim = await runSql(
        app.databaseUrl,
        `select 1 from scim_tokens where org_uuid = '${who.org}' and revoked_at is null`,
      );
      expect(scim).toEqual([]);
      const open = `select 1 from invitations
        where org_uuid = '${who.org}' and accepted_at is null and ended_at is null`;
      expect(await runSql(app.databaseUrl, open)).toEqual([]);
    }
    expect(deadlocks).toEqual([]);
  });
});

/** The token of the confirmation link in the oldest mail to an address. */
async function confirmToken(email: string): Promise<string> {
  return /\/confirm-email#token=([\w-]+)/u.exec((await mailsTo(app, email))[0]?.text ?? "")?.[1] ?? "";
}

describe("POST /api/auth/email/disown", () => {
  const disown = (token: unknown) => post("/api/auth/email/disown", { token });

  it("disowning ends the account and the organization it is alone in, and frees the address", async () => {
    const who = await equipped();
    const token = await disownToken(who.email);
    const confirm = await confirmToken(who.email);
    expect(outcome(await disown(token))).toBe("204");
    expect(await acting(who)).toEqual([]);
    for (const used of [token, "x".repeat(43), "no token"])
      expect(outcome(await disown(used))).toBe("401 unauthorized");
    expect(outcome(await post("/api/auth/email/confirm", { token: confirm }))).toBe("401 unauthorized");
    expect(
      outcome(await post("/api/organizations", { name: who.orgName, email: who.email, password, first_name: "Vic" })),
    ).toBe("409 conflict");
    const mine = await post("/api/organizations", {
      name: `${who.orgName} mine`,
      email: who.email,
      password,
      first_name: "Vic",
    });
    expect(mine.status).toBe(201);
    expect(mine.body.user_uuid).not.toBe(who.userUuid);
    expect((await app.call("GET", "/api/organizations", { token: mine.body.access_token })).body.data).toHaveLength(1);
  });

  it("disowning ends the membership in an organization that has other members", async () => {
    const who = await equipped();
    const other = await member(app, who, 1);
    expect(outcome(await disown(await disownToken(who.email)))).toBe("204");
    const token = await app.login(other.email, password, who.orgName);
    const { body } = await app.call("GET", "/api/users", { token });
    expect((body.data as { user_uuid: string }[]).map(({ user_uuid }) => user_uuid)).toEqual([other.userUuid]);
    expect(await auditOf(app, { org: who.org, token }, "user.removed")).toHaveLength(1);
    expect(await acting(who)).toEqual([]);
  });

  it("disowning ends an account whose factor the owner of the mailbox does not have", async () => {
    const who = await equipped();
    await enrol(who.token);
    expect((await openLink(who.email)).body).toMatchObject({ mfa_required: true });
    expect(outcome(await disown(await disownToken(who.email)))).toBe("204");
    const mine = await openLink(who.email);
    expect(mine.body.user).toMatchObject({ email: who.email });
    expect(mine.body.user.user_uuid).not.toBe(who.userUuid);
  });

  it("disowning is refused for a confirmed account, and without a token", async () => {
    const who = await founder(app);
    const token = await disownToken(who.email);
    await post("/api/auth/email/confirm", { token: await confirmToken(who.email) });
    for (let time = 0; time < 2; time++) expect(outcome(await disown(token))).toBe("409 conflict");
    expect(outcome(await post("/api/auth/email/disown", {}))).toBe("400 validation_error");
    expect(await works(app, who.token)).toBe(true);
  });

  it("a disown token is valid for seven days, and one of fifty uses on two instances succeeds", async () => {
    const [early, late] = [await founder(app), await founder(app)];
    const [token, older] = [await disownToken(early.email), await disownToken(late.email)];
    const uses = Array.from({ length: 50 }, (_, at) =>
      (at % 2 === 0 ? app : second).call("POST", "/api/auth/email/disown", { body: { token } }),
    );
    expect((await Promise.all(uses)).map(outcome).toSorted()).toEqual([
      "204",
      ...Array<string>(49).fill("401 unauthorized"),
    ]);
    app.clock.advance(7 * 86_400_000);
    expect(outcome(await disown(older))).toBe("401 unauthorized");
  });

  it("every mail to an unconfirmed address ends with the disown link, and no other mail has one", async () => {
    const who: Somebody = await founder(app);
    const host = await founder(app);
    const mails = async () =>
      (await mailsTo(app, who.email)).map(({ text }) =>
        [...text.matchAll(/\/([a-z-]+)#token=/gu)].map(([, page]) => page).join(" "),
      );
    await post("/api/auth/magic-link/send", { email: who.email });
    await post("/api/auth/otp", { email: who.email });
    await post("/api/auth/password/forgot", { email: who.email });
    await post("/api/auth/step-up/challenge", { method: "magic_link" }, who.token);
    await invite(app, host, who.email);
    expect(await mails()).toEqual([
      "confirm-email disown",
      "magic-link disown",
      "disown",
      "reset-password disown",
      "step-up disown",
      "invite disown",
    ]);
    await post("/api/auth/email/confirm", { token: await confirmToken(who.email) });
    await post("/api/auth/magic-link/send", { email: who.email });
    expect((await mails()).at(-1)).toBe("magic-link");
    await invite(app, host, "somebody@nowhere.test");
    expect((await mailsTo(app, "somebody@nowhere.test")).at(-1)?.text).not.toContain("disown");
  });
});
