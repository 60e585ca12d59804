import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { holding } from "../support/holding.ts";
import { founder, invite, mailsTo, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { signIn } from "../sessions/support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" } });
});
afterAll(() => app.close());

const post = (path: string, body: unknown, token?: string): Promise<Answer> => app.call("POST", path, { body, token });
const claimsOf = ({ body }: Answer) => decodeJwt(body.access_token as string);

async function byLink(email: string, more: object = {}): Promise<Answer> {
  const { body } = await post("/api/auth/magic-link/send", { email, ...more });
  return post("/api/auth/magic-link/verify", { token: body.dev_token });
}

async function byCode(email: string): Promise<Answer> {
  await post("/api/auth/otp", { email });
  const code = /^ {4}(\d{6})$/mu.exec((await mailsTo(app, email)).at(-1)?.text ?? "")?.[1];
  return post("/api/auth/otp/verify", { email, code });
}

/** A founder who is also a member of another organization. */
async function memberOfTwo(): Promise<[Somebody, Somebody]> {
  const [who, other] = [await founder(app), await founder(app)];
  const { token } = await invite(app, other, who.email);
  expect((await post("/api/auth/invite/accept", { token, password })).status).toBe(200);
  app.clock.advance(1_000);
  return [who, other];
}

it.each([
  ["a magic link", byLink],
  ["a code", byCode],
])("%s enters the organization that a sign-in or a switch used last", async (_way, enter) => {
  const [who, other] = await memberOfTwo();
  const entered = async () => claimsOf(await enter(who.email))["org"];
  for (const [first, second] of [
    [who, other],
    [other, who],
  ] as const) {
    const { token } = await signIn(app, { email: who.email, orgName: first.orgName });
    app.clock.advance(1_000);
    expect(await entered()).toBe(first.org);
    app.clock.advance(1_000);
    expect((await post("/api/auth/switch", { org_uuid: second.org }, token)).status).toBe(200);
    app.clock.advance(1_000);
    expect(await entered()).toBe(second.org);
    app.clock.advance(1_000);
  }
});

it("the token of a magic link has the documented claims, of the organization that the link names", async () => {
  const [who, other] = await memberOfTwo();
  await signIn(app, who);
  app.clock.advance(1_000);
  const iat = Math.floor(app.clock.now() / 1000);
  const [named, again] = await Promise.all([1, 2].map(() => byLink(who.email, { org_uuid: other.org })));
  for (const answer of [named, again])
    expect(claimsOf(answer as Answer)).toMatchObject({
      sub: who.userUuid,
      org: other.org,
      aud: other.orgName,
      scope: [],
      iss: "http://atrium.test",
      iat,
      exp: iat + 86_400,
    });
  expect(claimsOf(named as Answer).jti).not.toBe(claimsOf(again as Answer).jti);
});

it("a magic link enters another organization when the one used last ends during the sign-in", async () => {
  const [who, other] = await memberOfTwo();
  const { body: sent } = await post("/api/auth/magic-link/send", { email: who.email });

  const held = await holding(app.databaseUrl);
  // The sign-in has chosen the organization by then, and comes to what the person is there.
  await held.run("lock table plans in access exclusive mode");
  const verified = post("/api/auth/magic-link/verify", { token: sent.dev_token });
  await held.waitedFor();
  await held.run("update organizations set deleted_at = now() where uuid = $1", [who.org]);
  await held.commit();

  const answer = await verified;
  expect(outcome(answer)).toBe("200");
  expect(claimsOf(answer)["org"]).toBe(other.org);
});

it("a password login without a name enters another organization when the one used last ends meanwhile", async () => {
  const [who, other] = await memberOfTwo();
  await signIn(app, who);
  app.clock.advance(1_000);

  const held = await holding(app.databaseUrl);
  // The login has chosen the organization and verified the password by then.
  await held.run("lock table plans in access exclusive mode");
  const login = post("/api/auth/login", { email: who.email, password });
  await held.waitedFor();
  await held.run("update organizations set deleted_at = now() where uuid = $1", [who.org]);
  await held.commit();

  const answer = await login;
  expect(outcome(answer)).toBe("200");
  expect(claimsOf(answer)["org"]).toBe(other.org);
});
