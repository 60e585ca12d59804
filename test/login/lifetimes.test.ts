import { afterAll, beforeAll, expect, it } from "vitest";
import { decodeJwt } from "jose";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, invite, mailsTo, newcomer, outcome, password, tokenTo } from "../support/people.ts";
import { codeAt } from "../mfa/support.ts";
import { signIn } from "../sessions/support.ts";

const second = 1000;
let app: TestApp;
beforeAll(async () => {
  app = await startApp({
    env: {
      SERVICE_OPEN_SIGNUP: "1",
      SERVICE_MAGIC_LINK_DEV_ECHO: "1",
      SERVICE_TTL_ACCESS: "101s",
      SERVICE_TTL_PAIR: "102s",
      SERVICE_TTL_MAGIC_LINK: "103s",
      SERVICE_TTL_MAGIC_ACCESS: "104s",
      SERVICE_TTL_ELEVATED: "105s",
      SERVICE_TTL_MFA_TOKEN: "106s",
      SERVICE_TTL_STEP_UP: "107s",
      SERVICE_TTL_OTP: "108s",
      SERVICE_TTL_INVITATION: "90m",
      SERVICE_TTL_REFRESH: "110s",
      SERVICE_TTL_REFRESH_IDLE: "109s",
      SERVICE_TTL_PASSWORD_RESET: "111s",
      SERVICE_STEP_UP_LOCK: "12s",
      SERVICE_REFRESH_GRACE: "2s",
    },
  });
});
afterAll(() => app.close());

const post = (path: string, body: unknown, token?: string) => app.call("POST", path, { body, token });
const life = (token: string): number => Number(decodeJwt(token).exp) - Number(decodeJwt(token).iat);

/** The outcome of a use a millisecond before the expiry, and of a use of another one at the expiry. */
async function around(
  ms: number,
  make: () => Promise<() => Promise<{ status: number; body: { code?: string } }>>,
): Promise<string[]> {
  const ends: string[] = [];
  for (const wait of [ms - 1, ms]) {
    const use = await make();
    app.clock.advance(wait);
    ends.push(outcome((await use()) as never));
  }
  return ends;
}

it("access tokens live as long as configured", async () => {
  const who = await founder(app);
  expect(life(who.token)).toBe(102);
  const { body } = await post("/api/auth/login", { email: who.email, password, org_name: who.orgName });
  expect([life(body.access_token), body.expires_in]).toEqual([101, 101]);
  const { token } = await signIn(app, who);
  const challenge = await post("/api/auth/step-up/challenge", { method: "password" }, token);
  expect(Date.parse(challenge.body.expires_at) - app.clock.now()).toBe(107 * second);
  const elevated = await post(
    "/api/auth/step-up/verify",
    { challenge_id: challenge.body.challenge_id, password },
    token,
  );
  expect([life(elevated.body.elevated_token), elevated.body.expires_in]).toEqual([105, 105]);
  const { body: link } = await post("/api/auth/magic-link/send", { email: who.email });
  expect(link.expires_in_seconds).toBe(103);
  expect(life((await post("/api/auth/magic-link/verify", { token: link.dev_token })).body.access_token)).toBe(104);
});

it("mailed links and codes are valid as long as configured, to the millisecond", async () => {
  let made = 0;
  const address = (): string => `late${++made}@lifetimes.test`;
  expect(
    await around(103 * second, async () => {
      const { dev_token: token } = (await post("/api/auth/magic-link/send", { email: address() })).body;
      return () => post("/api/auth/magic-link/verify", { token });
    }),
  ).toEqual(["200", "401 unauthorized"]);
  expect(
    await around(108 * second, async () => {
      const email = address();
      await post("/api/auth/otp", { email });
      const code = /^ {4}(\d{6})$/mu.exec((await mailsTo(app, email)).at(-1)?.text ?? "")?.[1];
      return () => post("/api/auth/otp/verify", { email, code });
    }),
  ).toEqual(["200", "401 unauthorized"]);
  expect(
    await around(111 * second, async () => {
      const { email } = await founder(app);
      await post("/api/auth/password/forgot", { email });
      const token = await tokenTo(app, email);
      return () => post("/api/auth/password/reset", { token, password: "quite another passphrase" });
    }),
  ).toEqual(["204", "400 reset_expired"]);
  expect(
    await around(7 * 86_400 * second, async () => {
      const { email } = await founder(app);
      const token = await tokenTo(app, email);
      return () => post("/api/auth/email/confirm", { token });
    }),
  ).toEqual(["204", "401 unauthorized"]);
  expect(
    await around(90 * 60 * second, async () => {
      const email = address();
      const { token, answer } = await invite(app, await founder(app), email);
      expect(Date.parse(answer.body.expires_at) - app.clock.now()).toBe(90 * 60 * second);
      expect((await mailsTo(app, email)).at(-1)?.text).toContain("good for 90 minutes");
      return () => post("/api/auth/invite/accept", { token, ...newcomer() });
    }),
  ).toEqual(["200", "400 invitation_expired"]);
});

it("refresh tokens live, idle and in total, as long as configured", async () => {
  expect(
    await around(109 * second, async () => {
      const { refreshToken } = await founder(app);
      return () => post("/api/auth/refresh", { refresh_token: refreshToken });
    }),
  ).toEqual(["200", "401 unauthorized"]);
  expect(
    await around(10 * second, async () => {
      const { refreshToken } = await founder(app);
      app.clock.advance(100 * second);
      const { body } = await post("/api/auth/refresh", { refresh_token: refreshToken });
      return () => post("/api/auth/refresh", { refresh_token: body.refresh_token });
    }),
  ).toEqual(["200", "401 unauthorized"]);
  expect(
    await around(2 * second + 1, async () => {
      const { refreshToken } = await founder(app);
      await post("/api/auth/refresh", { refresh_token: refreshToken });
      return () => post("/api/auth/refresh", { refresh_token: refreshToken });
    }),
  ).toEqual(["200", "401 unauthorized"]);
});

it("pending sign-ins and the lockout of step-up last as long as configured", async () => {
  const who = await founder(app);
  const { body: factor } = await post("/api/v1/me/mfa/factors", { factor_type: "totp" }, who.token);
  const { id, secret } = factor.data as { id: number; secret: string };
  await post(`/api/v1/me/mfa/factors/${id}/verify`, { code: codeAt(secret, app.clock.now()) }, who.token);
  expect(
    await around(106 * second, async () => {
      const { body } = await post("/api/auth/login", { email: who.email, password, org_name: who.orgName });
      return () =>
        post("/api/auth/mfa/totp/challenge", { mfa_token: body.mfa_token, code: codeAt(secret, app.clock.now()) });
    }),
  ).toEqual(["200", "401 unauthorized"]);
  const other = await founder(app);
  expect(
    await around(12 * second, async () => {
      const { token } = await signIn(app, other);
      const { body } = await post("/api/auth/step-up/challenge", { method: "password" }, token);
      for (let wrong = 0; wrong < 5; wrong++)
        await post("/api/auth/step-up/verify", { challenge_id: body.challenge_id, password: "wrong" }, token);
      return async () => {
        const answer = await post("/api/auth/step-up/challenge", { method: "password" }, token);
        if (answer.status === 429) app.clock.advance(1);
        return answer;
      };
    }),
  ).toEqual(["429 too_many_attempts", "200"]);
});
