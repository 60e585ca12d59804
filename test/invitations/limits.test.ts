import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder, mailsTo, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let second: TestApp;
let owner: Somebody;
let other: Somebody;
beforeAll(async () => {
  const env = { SERVICE_RATE_LIMITS: "on", SERVICE_OPEN_SIGNUP: "1", SERVICE_TRUSTED_PROXIES: "127.0.0.1" };
  app = await startApp({ env });
  second = await startApp({ env, databaseUrl: app.databaseUrl, clock: app.clock });
  owner = await founder(app);
  other = await founder(app);
});
afterAll(async () => {
  await second.close();
  await app.close();
});

let turn = 0;

/** Invites by one instance and the other in turn. */
function invite(by: Somebody, email: string, roleId = 3): Promise<Answer> {
  turn += 1;
  return (turn % 2 === 0 ? app : second).call("POST", `/api/admin/organizations/${by.org}/invitations`, {
    token: by.token,
    body: { email, role_id: roleId },
  });
}

it("invitations count with codes, links and resets in the mail limit of an email on every instance", async () => {
  const email = "bombed@mail.test";
  expect(outcome(await app.call("POST", "/api/auth/otp", { body: { email } }))).toBe("200");
  expect(outcome(await invite(owner, email))).toBe("201");
  expect(outcome(await invite(other, "Bombed@mail.test"))).toBe("201");
  const refused = await invite(owner, email);
  expect(outcome(refused)).toBe("429 rate_limited");
  expect(refused.headers.get("retry-after")).toBe("200");
  expect(outcome(await app.call("POST", "/api/auth/magic-link/send", { body: { email } }))).toBe("429 rate_limited");
  expect(await mailsTo(app, email)).toHaveLength(3);
  app.clock.advance(200_000);
  expect(outcome(await invite(other, email))).toBe("201");
});

it("an invitation that is refused for another reason counts in no limit", async () => {
  const email = "counted@mail.test";
  for (let at = 0; at < 5; at++) expect(outcome(await invite(owner, email, 999_999))).toBe("404 role_not_found");
  for (let at = 0; at < 5; at++) expect(outcome(await invite(owner, owner.email))).toBe("409 email_taken");
  for (let at = 0; at < 3; at++) expect(outcome(await invite(owner, email))).toBe("201");
  expect(outcome(await invite(owner, email))).toBe("429 rate_limited");
  expect(outcome(await invite(owner, email, 999_999))).toBe("404 role_not_found");
});

it("an organization can send 200 invitations an hour, over instances and callers", async () => {
  const by = await founder(app);
  const answers: Answer[] = [];
  for (let at = 0; at < 204; at += 12)
    answers.push(...(await Promise.all(Array.from({ length: 12 }, () => invite(by, `${randomUUID()}@mail.test`)))));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(200);
  expect([...new Set(answers.map(outcome))].toSorted()).toEqual(["201", "429 rate_limited"]);
  expect(answers.find(({ status }) => status === 429)?.headers.get("retry-after")).toMatch(/^\d+$/u);
  expect(outcome(await invite(other, `${randomUUID()}@mail.test`))).toBe("201");
  app.clock.advance(18_000);
  expect(outcome(await invite(by, `${randomUUID()}@mail.test`))).toBe("201");
});
