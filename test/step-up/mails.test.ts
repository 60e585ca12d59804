import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signIn } from "../sessions/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, mailsTo, outcome, password } from "../support/people.ts";

let app: TestApp;
let second: TestApp;
beforeAll(async () => {
  const env = { SERVICE_RATE_LIMITS: "on", SERVICE_OPEN_SIGNUP: "1" };
  app = await startApp({ env });
  second = await startApp({ env, databaseUrl: app.databaseUrl, clock: app.clock });
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const challenge = (token: string, method = "magic_link", by = app) =>
  by.call("POST", "/api/auth/step-up/challenge", { token, body: { method } });
const verify = async (token: string, answer: object) =>
  outcome(await app.call("POST", "/api/auth/step-up/verify", { token, body: answer }));

/** The answers that the mailed links of an address hold, oldest first. */
async function mailedAnswers(email: string): Promise<object[]> {
  return (await mailsTo(app, email)).flatMap(({ text }) => {
    const link = /\/step-up#token=([\w-]+)&challenge_id=([\w-]+)/u.exec(text);
    return link === null ? [] : [{ token: link[1], challenge_id: link[2] }];
  });
}

describe("a challenge by mail", () => {
  it("challenges by mail count with other mails in the limit of the address on every instance", async () => {
    const { token, email } = await founder(app);
    for (const by of [app, second, app]) expect(outcome(await challenge(token, "magic_link", by))).toBe("200");
    const refused = await challenge(token, "magic_link", second);
    expect(outcome(refused)).toBe("429 rate_limited");
    expect(refused.headers.get("retry-after")).toBe("200");
    expect(await mailedAnswers(email)).toHaveLength(3);
    expect(outcome(await app.call("POST", "/api/auth/otp", { body: { email } }))).toBe("429 rate_limited");
    for (let at = 0; at < 5; at++) expect(outcome(await challenge(token, "password"))).toBe("200");
    app.clock.advance(200_000);
    expect(outcome(await challenge(token))).toBe("200");
  });

  it("a new challenge by mail replaces the unanswered ones of its session, and nothing else", async () => {
    const who = await founder(app);
    const other = await signIn(app, who);
    const { body: byPassword } = await challenge(who.token, "password");
    expect(outcome(await challenge(other.token))).toBe("200");
    for (let at = 0; at < 2; at++) expect(outcome(await challenge(who.token))).toBe("200");
    const [elsewhere = {}, replaced = {}, newest = {}] = await mailedAnswers(who.email);
    for (let at = 0; at < 6; at++) expect(await verify(who.token, replaced)).toBe("410 challenge_gone");
    expect(await verify(who.token, newest)).toBe("200");
    expect(await verify(other.token, elsewhere)).toBe("200");
    expect(await verify(who.token, { challenge_id: byPassword.challenge_id as string, password })).toBe("200");
  });
});
