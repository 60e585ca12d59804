import { randomUUID } from "node:crypto";
import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { getOption, hasOption } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { access, SessionCookie } from "../../gen/atrium/options/v1/options_pb.ts";
import { LoginService } from "../../gen/atrium/login/v1/login_pb.ts";
import { services } from "../../gen/services.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { codeAt } from "../mfa/support.ts";
import { founder, invite, mailsTo, member, newcomer, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { COOKIE, cookieOf, PAGE, post, refresh, signIn } from "./cookie-support.ts";

let app: TestApp;
let boss: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" } });
  boss = await founder(app);
});
afterAll(() => app.close());

const FOR_THE_WINDOW = ["Path=/", "Secure", "HttpOnly", "SameSite=Strict"];

/** Expects a session whose refresh token is in the cookie alone, and that the cookie renews it. */
async function expectCookie(answer: Answer, tokens: { access_token: string } = answer.body): Promise<void> {
  expect(answer.status).toBeLessThan(300);
  expect(answer.text).not.toContain("refresh_token");
  expect(tokens.access_token).toMatch(/^ey/u);
  const set = cookieOf(answer);
  expect(set?.attributes).toEqual(FOR_THE_WINDOW);
  expect(answer.text).not.toContain(set?.value);
  expect(outcome(await refresh(app, set?.value ?? ""))).toBe("200");
}

describe("a sign-in in cookie mode", () => {
  it("a password login sets the refresh token as a cookie and leaves it out of the body", async () => {
    const { answer } = await signIn(app);
    await expectCookie(answer);
    expect(answer.body).toMatchObject({ token_type: "Bearer", expires_in: 900, user: { email: app.owner.email } });
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  it("a persistent cookie lasts as long as a session may be renewed", async () => {
    for (const header of ["cookie; persistent", "cookie;persistent", "Cookie; Persistent"]) {
      const { answer } = await signIn(app, { "x-atrium-session": header });
      expect(cookieOf(answer)?.attributes).toEqual([...FOR_THE_WINDOW, "Max-Age=2592000"]);
    }
  });

  it("without the header nothing changes", async () => {
    const { email, password: secret, org } = app.owner;
    const body = { email, password: secret, org_name: org };
    const answer = await app.call("POST", "/api/auth/login", { body, headers: { origin: "http://atrium.test" } });
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect(typeof answer.body.refresh_token).toBe("string");
    expect(outcome(await app.call("POST", "/api/auth/refresh", { body: {} }))).toBe("400 validation_error");
  });

  it("a sign-in that fails or waits for the second factor sets no cookie", async () => {
    const { org } = app.owner;
    const wrong = { email: app.owner.email, password: "not the password", org_name: org };
    const refused = await post(app, "/api/auth/login", wrong);
    expect(outcome(refused)).toBe("401 unauthorized");
    expect(cookieOf(refused)).toBeUndefined();

    const person = await founder(app);
    const factors = "/api/v1/me/mfa/factors";
    const enrolled = await app.call("POST", factors, { token: person.token, body: { factor_type: "totp" } });
    const { id, secret } = enrolled.body.data as { id: number; secret: string };
    const code = () => codeAt(secret, app.clock.now());
    await app.call("POST", `${factors}/${id}/verify`, { token: person.token, body: { code: code() } });
    const login = { email: person.email, password, org_name: person.orgName };
    const waiting = await post(app, "/api/auth/login", login);
    expect(waiting.body).toMatchObject({ mfa_required: true });
    expect(cookieOf(waiting)).toBeUndefined();
    app.clock.advance(30_000);
    const challenge = { mfa_token: waiting.body.mfa_token, code: code() };
    await expectCookie(await post(app, "/api/auth/mfa/totp/challenge", challenge));
  });

  it("a sign-up and an organization of a signed-in person set the cookie", async () => {
    const body = { name: `Cookie ${randomUUID()}`, email: `${randomUUID()}@cookie.test`, password, first_name: "Cy" };
    const answer = await post(app, "/api/organizations", body);
    expect(answer.status).toBe(201);
    await expectCookie(answer);

    const further = { name: `Cookie ${randomUUID()}` };
    const headers = { "idempotency-key": randomUUID() };
    const first = await post(app, "/api/organizations", further, { token: boss.token, headers });
    const replayed = await post(app, "/api/organizations", further, { token: boss.token, headers });
    expect(replayed.headers.get("idempotent-replayed")).toBe("true");
    expect(replayed.text).not.toContain("refresh_token");
    expect(cookieOf(replayed)).toEqual(cookieOf(first));
  });

  it("an accepted invitation sets the cookie, in both forms of the response", async () => {
    const { token } = await invite(app, boss, "cookie@invited.test");
    const answer = await post(app, "/api/auth/invite/accept", { token, ...newcomer() });
    await expectCookie(answer, answer.body.data);

    const binary = await invite(app, boss, "binary@invited.test");
    const accepted = await post(
      app,
      "/api/auth/invite/accept",
      { token: binary.token, ...newcomer() },
      { headers: { accept: "application/x-flatbuffers" } },
    );
    expect(accepted.headers.get("content-type")).toBe("application/x-flatbuffers");
    const set = cookieOf(accepted);
    expect(set?.value).toMatch(/./u);
    expect(accepted.text).not.toContain(set?.value);
  });

  it("a mailed code sets the cookie", async () => {
    const { email } = await founder(app);
    await app.call("POST", "/api/auth/otp", { body: { email } });
    const code = /\b\d{6}\b/u.exec((await mailsTo(app, email)).at(-1)?.text ?? "")?.[0];
    await expectCookie(await post(app, "/api/auth/otp/verify", { email, code }));
  });

  it("switching to another account of the device sets the cookie", async () => {
    const device = { "x-device-uuid": randomUUID() };
    const other = await member(app, boss);
    const login = { email: boss.email, password, org_name: boss.orgName };
    const { body } = await app.call("POST", "/api/auth/login", { body: login, headers: device });
    const token = body.access_token as string;
    const path = `/api/devices/${device["x-device-uuid"]}`;
    const proof = { access_token: other.token };
    const added = await app.call("POST", `${path}/accounts`, { token, body: proof });
    await expectCookie(await post(app, `${path}/active-account`, { account_id: added.body.id }, { token }));
  });

  it("the cookie of a magic link renews its session until the end of the access token", async () => {
    const { body } = await app.call("POST", "/api/auth/magic-link/send", { body: { email: "linked@cookie.test" } });
    const headers = { "x-atrium-session": "cookie; persistent" };
    const answer = await post(app, "/api/auth/magic-link/verify", { token: body.dev_token }, { headers });
    expect(answer.body.expires_in).toBe(86_400);
    expect(answer.text).not.toContain("refresh_token");
    const set = cookieOf(answer);
    expect(set?.attributes).toEqual([...FOR_THE_WINDOW, "Max-Age=86400"]);
    app.clock.advance(86_000_000);
    const renewed = await refresh(app, set?.value ?? "");
    expect(outcome(renewed)).toBe("200");
    app.clock.advance(400_000);
    expect(outcome(await app.call("GET", "/api/auth/me", { token: renewed.body.access_token }))).toBe(
      "401 unauthorized",
    );
    expect(outcome(await refresh(app, cookieOf(renewed)?.value ?? ""))).toBe("401 unauthorized");
  });

  it("every rpc of the contract that answers an access token takes cookie mode, except step-up", () => {
    const without = services
      .flatMap(({ methods }) => methods)
      .filter((method) => {
        const inner = method.output.fields.map(({ message }) => message);
        const opens = [method.output, ...inner].some((message) => message?.field["accessToken"] !== undefined);
        const option = hasOption(method, access) ? getOption(method, access).sessionCookie : undefined;
        return opens && option === SessionCookie.UNSPECIFIED;
      });
    expect(without.map(({ name }) => name)).toEqual([]);
  });
});

describe("a session in cookie mode", () => {
  it("refresh reads the cookie, rotates it and leaves the token out of the body", async () => {
    const { value } = await signIn(app);
    const first = await refresh(app, value);
    await expectCookie(first);
    expect(first.body).toMatchObject({ token_type: "Bearer", expires_in: 420 });
    expect(cookieOf(first)?.value).not.toBe(value);
  });

  it("refresh without a body reads the cookie, and outside cookie mode returns 400 for the missing token", async () => {
    const { value } = await signIn(app);
    const headers = { ...PAGE, cookie: `${COOKIE}=${value}` };
    await expectCookie(await app.call("POST", "/api/auth/refresh", { headers }));
    const { body } = await app.call("POST", "/api/auth/refresh");
    expect(body).toMatchObject({ status: 400, code: "validation_error", errors: [{ field: "refresh_token" }] });
  });

  it("refresh takes a token in the body before the cookie", async () => {
    const [first, second] = [await signIn(app), await signIn(app)];
    const headers = { cookie: `${COOKIE}=${first.value}` };
    const answer = await post(app, "/api/auth/refresh", { refresh_token: second.value }, { headers });
    await expectCookie(answer);
    expect(outcome(await refresh(app, first.value))).toBe("200");
  });

  it("logout with an access token clears the cookie and ends the session", async () => {
    const { token, value } = await signIn(app);
    const answer = await post(app, "/api/auth/logout", {}, { token, headers: { cookie: `${COOKIE}=${value}` } });
    expect(answer.status).toBe(204);
    expect(cookieOf(answer)).toEqual({ value: "", attributes: [...FOR_THE_WINDOW, "Max-Age=0"] });
    const refused = await refresh(app, value);
    expect(outcome(refused)).toBe("401 unauthorized");
    expect(cookieOf(refused)).toEqual({ value: "", attributes: [...FOR_THE_WINDOW, "Max-Age=0"] });
  });

  it("refresh without a cookie is 401 and clears what may be there", async () => {
    const answer = await post(app, "/api/auth/refresh", {});
    expect(outcome(answer)).toBe("401 unauthorized");
    expect(cookieOf(answer)?.attributes).toContain("Max-Age=0");
  });

  it("two tabs that refresh at once get the same successor", async () => {
    const { value } = await signIn(app);
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(app, value)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map((answer) => cookieOf(answer)?.value)).size).toBe(1);
  });

  it("logout in one tab ends what another tab holds", async () => {
    const { value, token } = await signIn(app);
    const other = await refresh(app, value);
    await post(app, "/api/auth/logout", {}, { token });
    expect(outcome(await app.call("GET", "/api/auth/me", { token: other.body.access_token }))).toBe("401 unauthorized");
    expect(outcome(await refresh(app, cookieOf(other)?.value ?? ""))).toBe("401 unauthorized");
  });
});

describe("cookie mode over the other protocols", () => {
  it.each([
    ["Connect", () => createConnectTransport({ baseUrl: app.url, httpVersion: "1.1" })],
    ["Connect over HTTP/2", () => createConnectTransport({ baseUrl: app.url, httpVersion: "2" })],
    ["gRPC-Web", () => createGrpcWebTransport({ baseUrl: app.url, httpVersion: "1.1" })],
    ["gRPC", () => createGrpcTransport({ baseUrl: app.url })],
  ])("login, refresh and logout work over %s", async (_protocol, transport) => {
    const client = createClient(LoginService, transport());
    const seen: { headers: Headers }[] = [];
    const onHeader = (headers: Headers) => void seen.push({ headers });
    const last = () => cookieOf(seen.at(-1) ?? { headers: new Headers() });
    const { email, password: secret, org } = app.owner;
    const signedIn = await client.login({ email, password: secret, orgName: org }, { headers: PAGE, onHeader });
    expect(signedIn.refreshToken).toBeUndefined();
    expect(last()?.attributes).toEqual(FOR_THE_WINDOW);
    const headers = { ...PAGE, cookie: `${COOKIE}=${last()?.value}` };
    const pair = await client.refresh({}, { headers, onHeader });
    expect(pair.refreshToken).toBeUndefined();
    const authorization = `Bearer ${pair.accessToken}`;
    await client.logout({}, { headers: { ...PAGE, authorization }, onHeader });
    expect(last()?.attributes).toContain("Max-Age=0");
    await expect(client.refresh({}, { headers })).rejects.toMatchObject({ code: Code.Unauthenticated });
  });
});
