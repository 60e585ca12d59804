import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startSmtp } from "../outgoing/smtp.ts";
import type { SmtpServer } from "../outgoing/smtp.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, outcome } from "../support/people.ts";

let smtp: SmtpServer;
let app: TestApp;
beforeAll(async () => {
  smtp = await startSmtp();
  app = await startApp({
    role: "all",
    temporal: { address: "127.0.0.1:1", namespace: "none" },
    clock: systemClock,
    env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_SMTP_URL: `smtp://127.0.0.1:${smtp.port}` },
  });
});
afterAll(async () => {
  // First, because it ends the mails that wait for an answer.
  await smtp.close();
  await app.close();
});

test("invitations of one organization that hang do not delay the code that somebody waits for", async () => {
  const owner = await founder(app);
  const heard = (address: string) => smtp.heard.to.filter((line) => line.includes(`<${address}`)).length;
  await expect.poll(() => heard(owner.email)).toBe(1);
  const path = `/api/admin/organizations/${owner.org}/invitations`;
  for (let nth = 0; nth < 12; nth++) {
    const body = { email: `silent+${nth}@guests.test`, role_id: 3 };
    expect(outcome(await app.call("POST", path, { token: owner.token, body }))).toBe("201");
  }
  await expect.poll(() => heard("silent+")).toBeGreaterThan(1);
  expect(outcome(await app.call("POST", "/api/auth/otp", { body: { email: owner.email } }))).toBe("200");
  await expect.poll(() => heard(owner.email)).toBe(2);
  // The two that hang at a time: further ones are sent when these are given up, a minute later.
  const code = smtp.heard.to.findLastIndex((line) => line.includes(`<${owner.email}`));
  expect(smtp.heard.to.slice(0, code).filter((line) => line.includes("<silent+"))).toHaveLength(2);
});
