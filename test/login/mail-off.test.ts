import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, mailsTo, outcome } from "../support/people.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_MAIL: "off", SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

it.each([
  ["a code", "/api/auth/otp"],
  ["a magic link", "/api/auth/magic-link/send"],
  ["a password reset", "/api/auth/password/forgot"],
])("while mail is off, a request for %s returns 503 for known and unknown addresses", async (_what, path) => {
  for (const email of [app.owner.email, "nobody@mail.test"]) {
    const answer = await app.call("POST", path, { body: { email } });
    expect(outcome(answer)).toBe("503 unavailable");
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  }
  expect((await app.call("POST", path, { body: { email: "x" } })).status).toBe(400);
});

it("while mail is off, invitations and step-up by mail return 503, and other methods work", async () => {
  const who = await founder(app);
  const post = (path: string, body: unknown) => app.call("POST", path, { token: who.token, body });
  expect(
    outcome(await post(`/api/admin/organizations/${who.org}/invitations`, { email: "a@mail.test", role_id: 3 })),
  ).toBe("503 unavailable");
  expect(
    (await app.call("GET", `/api/admin/organizations/${who.org}/invitations`, { token: who.token })).body.total,
  ).toBe(0);
  expect(outcome(await post("/api/auth/step-up/challenge", { method: "magic_link" }))).toBe("503 unavailable");
  expect(outcome(await post("/api/auth/step-up/challenge", { method: "password" }))).toBe("200");
  const factor = await post("/api/v1/me/mfa/factors", { factor_type: "totp" });
  expect(outcome(factor)).toBe("201");
  expect(await mailsTo(app, who.email)).toEqual([]);
});
