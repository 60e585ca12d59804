import { randomUUID } from "node:crypto";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { auditOf, founder, mailsTo, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { codeAt } from "../mfa/support.ts";
import { works } from "../sessions/support.ts";

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

const send = (body: unknown) => app.call("POST", "/api/auth/otp", { body });
const verify = (body: unknown, headers?: Record<string, string>) =>
  app.call("POST", "/api/auth/otp/verify", { body, ...(headers === undefined ? {} : { headers }) });

/** Asks for a code and reads it in the newest mail. */
async function codeFor(email: string, appUuid?: string): Promise<string> {
  const { status } = await send({ email, ...(appUuid === undefined ? {} : { app_uuid: appUuid }) });
  if (status !== 200) throw new Error(`sending answered ${status}`);
  return /^ {4}(\d{6})$/mu.exec((await mailsTo(app, email)).at(-1)?.text ?? "")?.[1] ?? "";
}

const wrong = (code: string): string => String((Number(code) + 1) % 1_000_000).padStart(6, "0");
const bare = ({ body }: Answer): unknown => ({ ...body, request_id: "" });

describe("POST /api/auth/otp", () => {
  it("sending a code returns the same JSON string for known and unknown people", async () => {
    const known = await send({ email: owner.email });
    const unknown = await send({ email: "nobody@otp.test", app_uuid: randomUUID() });
    expect(known.status).toBe(200);
    expect(known.body).toEqual(expect.stringContaining("sent"));
    expect(unknown.text).toBe(known.text);
    expect(await mailsTo(app, "nobody@otp.test")).toHaveLength(1);
  });

  it.each([
    ["nothing", {}],
    ["two addresses", { email: "a@b.test, c@d.test" }],
    ["a line break", { email: "a@b.test\r\nBcc: c@d.test" }],
    ["HTML", { email: "<b>a@b.test" }],
    ["ten thousand characters", { email: `${"x".repeat(10_000)}@b.test` }],
    ["a malformed app", { email: "a@b.test", app_uuid: "x" }],
  ])("sending a code refuses %s, and mails nothing", async (_what, body) => {
    expect(outcome(await send(body))).toBe("400 validation_error");
  });

  it("a code is stored and queued in no readable form", async () => {
    const code = await codeFor("hidden@otp.test");
    const rows = await runSql<{ text: string }>(
      app.databaseUrl,
      `select (select string_agg(c::text, '') from one_time_codes c)
         || (select string_agg(payload::text, '') from outbox) as text`,
    );
    expect(code).toMatch(/^\d{6}$/u);
    expect(rows[0]?.text).not.toMatch(new RegExp(`\\b${code}\\b`, "u"));
  });
});

describe("POST /api/auth/otp/verify", () => {
  it("a code opens a session with a pair of 420 seconds, and creates the person", async () => {
    const code = await codeFor("new@otp.test");
    const device = randomUUID();
    const answer = await verify({ email: " NEW@otp.test", code }, { "x-device-uuid": device });
    expect(answer).toMatchObject({ status: 200, body: { token_type: "Bearer", expires_in: 420, device_uuid: device } });
    expect(Object.keys(answer.body).sort()).toEqual([
      "access_token",
      "device_uuid",
      "expires_in",
      "refresh_token",
      "token_type",
    ]);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(decodeJwt(answer.body.access_token)).toMatchObject({ org: "", amr: ["mail", "otp"] });
    expect(
      (await app.call("POST", "/api/auth/refresh", { body: { refresh_token: answer.body.refresh_token } })).status,
    ).toBe(200);
  });

  it("a code signs members in to the requested organization, and the sign-in is recorded there", async () => {
    const someone = await member(app, owner);
    const answer = await verify({ email: someone.email, code: await codeFor(someone.email), org_uuid: owner.org });
    expect((await app.call("GET", "/api/auth/me", { token: answer.body.access_token })).body).toMatchObject({
      org_uuid: owner.org,
      user_uuid: someone.userUuid,
    });
    expect((await auditOf(app, owner, "login.magic_link"))[0]).toMatchObject({
      outcome: "success",
      metadata: { method: "otp" },
    });
  });

  it("a failure is recorded in the organization the member would be signed in to, and in no other", async () => {
    const [someone, elsewhere] = [await member(app, owner), await founder(app)];
    const failures = (by: Somebody) =>
      auditOf(app, by, `login.magic_link&outcome=failure&user_uuid=${someone.userUuid}`);
    for (const org_uuid of [undefined, owner.org, elsewhere.org])
      expect((await verify({ email: someone.email, code: "000000", org_uuid })).status).toBe(401);
    expect((await failures(owner)).map(({ metadata }) => metadata["code"])).toEqual(Array(3).fill("unauthorized"));
    const { body: link } = await app.call("POST", "/api/auth/magic-link/send", { body: { email: someone.email } });
    for (const status of [200, 401])
      expect((await app.call("POST", "/api/auth/magic-link/verify", { body: { token: link.dev_token } })).status).toBe(
        status,
      );
    expect((await failures(owner))[0]).toMatchObject({ metadata: { method: "magic_link", code: "unauthorized" } });
    expect(
      (await app.call("GET", "/api/auth/events?type=login.magic_link&outcome=failure", { token: elsewhere.token })).body
        .data,
    ).toEqual([]);
  });

  it("one of fifty uses of a code on two instances succeeds", async () => {
    const code = await codeFor("race@otp.test");
    const uses = Array.from({ length: 50 }, (_, at) =>
      (at % 2 === 0 ? app : second).call("POST", "/api/auth/otp/verify", { body: { email: "race@otp.test", code } }),
    );
    expect((await Promise.all(uses)).map(outcome).toSorted()).toEqual([
      "200",
      ...Array<string>(49).fill("401 unauthorized"),
    ]);
  });

  it("an unknown, wrong, used, expired, used up or another's code has the same response", async () => {
    const used = await codeFor("used@otp.test");
    await verify({ email: "used@otp.test", code: used });
    const late = await codeFor("late@otp.test");
    app.clock.advance(600_000);
    const live = await codeFor("live@otp.test");
    const tries = [
      ["unknown@otp.test", live],
      ["live@otp.test", wrong(live)],
      ["used@otp.test", used],
      ["late@otp.test", late],
      ["no address", live],
      ["other@otp.test", live],
    ];
    const answers = await Promise.all(tries.map(([email, code]) => verify({ email, code })));
    for (const answer of answers) {
      expect(outcome(answer)).toBe("401 unauthorized");
      expect(bare(answer)).toEqual(bare(answers[0] as Answer));
    }
    expect(outcome(await verify({ email: "live@otp.test" }))).toBe("400 validation_error");
  });

  it("an email whose 254th character is half of a pair has the same response as any wrong one", async () => {
    const [pair, other] = [`${"a".repeat(253)}\u{1F600}`, "other@otp.test"];
    const answers = await Promise.all([pair, other].map((email) => verify({ email, code: "000000" })));
    expect(answers.map(outcome)).toEqual(["401 unauthorized", "401 unauthorized"]);
  });

  it("a code allows five attempts, counted under concurrency", async () => {
    const email = "tries@otp.test";
    const four = await codeFor(email);
    for (let at = 0; at < 4; at++) expect((await verify({ email, code: wrong(four) })).status).toBe(401);
    expect((await verify({ email, code: four })).status).toBe(200);
    const five = await codeFor(email);
    await Promise.all(Array.from({ length: 5 }, () => verify({ email, code: wrong(five) })));
    expect((await verify({ email, code: five })).status).toBe(401);
  });

  it("each address and app has one live code", async () => {
    const email = "apps@otp.test";
    const [one, two] = [randomUUID(), randomUUID()];
    const [plain, first, other] = [await codeFor(email), await codeFor(email, one), await codeFor(email, two)];
    const newer = await codeFor(email, one);
    if (newer !== first) expect((await verify({ email, code: first, app_uuid: one })).status).toBe(401);
    expect((await verify({ email, code: newer, app_uuid: one.toUpperCase() })).status).toBe(200);
    expect((await verify({ email, code: other, app_uuid: two })).status).toBe(200);
    expect((await verify({ email, code: plain })).status).toBe(200);
  });

  it("a code asks a person with a second factor for it", async () => {
    const who = await member(app, await founder(app));
    const { body: factor } = await app.call("POST", "/api/v1/me/mfa/factors", {
      token: who.token,
      body: { factor_type: "totp" },
    });
    const { id, secret } = factor.data as { id: number; secret: string };
    await app.call("POST", `/api/v1/me/mfa/factors/${id}/verify`, {
      token: who.token,
      body: { code: codeAt(secret, app.clock.now()) },
    });
    app.clock.advance(30_000);
    const answer = await verify({ email: who.email, code: await codeFor(who.email) });
    expect(answer.body).toEqual({ mfa_required: true, mfa_token: expect.any(String) });
    const done = await app.call("POST", "/api/auth/mfa/totp/challenge", {
      body: { mfa_token: answer.body.mfa_token, code: codeAt(secret, app.clock.now()) },
    });
    expect(done).toMatchObject({ status: 200, body: { expires_in: 420 } });
  });

  it("a code that proves a mailbox for the first time ends the credentials made before", async () => {
    const stranger = await founder(app);
    await verify({ email: stranger.email, code: await codeFor(stranger.email) });
    expect(await works(app, stranger.token)).toBe(false);
  });
});
