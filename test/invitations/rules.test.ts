import { randomUUID } from "node:crypto";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LoginService } from "../../gen/atrium/login/v1/login_pb.ts";
import { UsersService } from "../../gen/atrium/users/v1/users_pb.ts";
import { codeAt } from "../mfa/support.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, invite, mailsTo, member, newcomer, outcome, password, tokenTo } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
});
afterAll(() => app.close());

let guests = 0;
const guest = (): string => `guest${++guests}@rules.test`;
const post = (path: string, body: unknown, token?: string) => app.call("POST", path, { body, token });
const accept = (body: unknown, token?: string) => post("/api/auth/invite/accept", body, token);
const show = (token: string) => app.call("GET", `/api/auth/invite/${token}`);
const path = (): string => `/api/admin/organizations/${owner.org}/invitations`;
const codeOf = (call: Promise<unknown>): Promise<Code> =>
  call.then(
    () => Promise.reject(new Error("accepted")),
    (error: unknown) => ConnectError.from(error).code,
  );

describe("an invitation for administrators", () => {
  it("an invitation has the same fields when created and listed, and never its token", async () => {
    const email = guest();
    const { answer, token } = await invite(app, owner, email, 5);
    expect(answer.status).toBe(201);
    expect(Object.keys(answer.body)).toEqual([
      "invitation_id",
      "email",
      "role_id",
      "role",
      "status",
      "invited_by",
      "created_at",
      "expires_at",
    ]);
    expect(answer.body).toMatchObject({
      email,
      role_id: 5,
      role: "limited_access",
      status: "pending",
      invited_by: owner.userUuid,
    });
    expect(Date.parse(answer.body.expires_at) - Date.parse(answer.body.created_at)).toBe(7 * 86_400_000);
    const { body } = await app.call("GET", path(), { token: owner.token });
    expect(body.data[0]).toEqual(answer.body);
    expect(answer.text + JSON.stringify(body)).not.toContain(token);
    expect(token).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u);
  });

  it("an invitation by a key names no person", async () => {
    const key = (
      await post(`/api/admin/organizations/${owner.org}/api-keys`, { name: "k", scopes: ["admin"] }, owner.token)
    ).body.api_key as string;
    const email = guest();
    const { answer } = await invite(app, { ...owner, token: key }, email);
    expect(answer).toMatchObject({ status: 201, body: { invited_by: null } });
    expect((await mailsTo(app, email)).at(-1)?.text).toContain("An administrator invites you");
  });

  it("an invitation needs a role of the organization: another id returns 404, a malformed one 400", async () => {
    const other = await founder(app);
    const made = await post("/api/v2/products/p/roles", { name: "Auditor", permissions: [] }, other.token);
    expect(made.status).toBe(200);
    const { body: roles } = await app.call("GET", "/api/roles", { token: other.token });
    const auditor = (roles.data as { id: number; name: string }[]).find(({ name }) => name === "Auditor")?.id ?? 0;
    for (const roleId of [6, 999_999, 4_294_967_295, auditor])
      expect(outcome((await invite(app, owner, guest(), roleId)).answer), String(roleId)).toBe("404 role_not_found");
    for (const wrong of [undefined, 0, -1, 1.5, "x", null, 4_294_967_296])
      expect(outcome(await post(path(), { email: guest(), role_id: wrong }, owner.token)), String(wrong)).toBe(
        "400 validation_error",
      );
    expect((await invite(app, other, guest(), auditor)).answer).toMatchObject({
      status: 201,
      body: { role: "Auditor" },
    });
  });

  it("an invitation of a member, active or not, is refused; a former member can be invited again", async () => {
    const who = await member(app, owner);
    const taken = (await invite(app, owner, who.email.toUpperCase())).answer;
    expect(outcome(taken)).toBe("409 email_taken");
    await app.call("PATCH", `/api/users/${who.userUuid}`, { token: owner.token, body: { status: "inactive" } });
    expect(outcome((await invite(app, owner, who.email)).answer)).toBe("409 email_taken");
    await app.call("DELETE", `/api/users/${who.userUuid}`, { token: owner.token });
    const { token } = await invite(app, owner, who.email, 2);
    expect((await accept({ token, password })).body.data).toMatchObject({ user_uuid: who.userUuid, role: "manager" });
  });
});

describe("the token of an invitation", () => {
  it("a password too short for anybody returns 400 before the token is looked up", async () => {
    const token = randomUUID();
    const refused = await accept({ token, ...newcomer(), password: "7 chars" });
    expect(outcome(refused)).toBe("400 validation_error");
    expect(refused.body.errors).toMatchObject([{ field: "password", code: "too_short" }]);
    for (const body of [{}, { password: "" }, { password: "8 chars." }, { password: "password123" }])
      expect(outcome(await accept({ token, ...body })), JSON.stringify(body)).toBe("404 invitation_not_found");
  });

  it("the token returns 404 when unknown, malformed, replaced or withdrawn, and 400 when used", async () => {
    const [replaced, withdrawn] = [guest(), guest()];
    const first = await invite(app, owner, replaced);
    const second = await invite(app, owner, replaced.toUpperCase(), 4);
    const gone = await invite(app, owner, withdrawn);
    expect(outcome(await app.call("DELETE", `${path()}/${gone.id}`, { token: owner.token }))).toBe("204");
    expect(outcome(await app.call("DELETE", `${path()}/${gone.id}`, { token: owner.token }))).toBe(
      "404 invitation_not_found",
    );
    for (const token of [randomUUID(), "x", "a".repeat(500), first.token, gone.token, second.id]) {
      expect(outcome(await show(token)), token).toBe("404 invitation_not_found");
      expect(outcome(await accept({ token, ...newcomer() })), token).toBe("404 invitation_not_found");
    }
    expect((await show(second.token.toUpperCase())).body).toMatchObject({ role: "observer" });
    expect((await accept({ token: second.token, ...newcomer() })).status).toBe(200);
    expect(outcome(await show(second.token))).toBe("400 invitation_expired");
    const list = (await app.call("GET", path(), { token: owner.token })).body.data as {
      invitation_id: string;
      status: string;
    }[];
    const statusOf = (id: string) => list.find((one) => one.invitation_id === id)?.status;
    expect([first.id, gone.id, second.id].map(statusOf)).toEqual(["replaced", "withdrawn", "accepted"]);
  });

  it("the token returns 404 once the organization was deleted", async () => {
    const host = await founder(app);
    const { token } = await invite(app, host, guest());
    const { body } = await post("/api/auth/step-up/challenge", { method: "password" }, host.token);
    const step = await post("/api/auth/step-up/verify", { challenge_id: body.challenge_id, password }, host.token);
    expect(
      (await app.call("DELETE", `/api/organizations/${host.org}`, { token: step.body.elevated_token })).status,
    ).toBe(204);
    expect(outcome(await show(token))).toBe("404 invitation_not_found");
    expect(outcome(await accept({ token, ...newcomer() }))).toBe("404 invitation_not_found");
  });
});

describe("a person with an account", () => {
  it("every refusal says what to do, and a password or bearer token proves the person", async () => {
    const [who, stranger] = [await founder(app), await founder(app)];
    const { token } = await invite(app, owner, who.email);
    const refusals = await Promise.all([
      accept({ token, password: "not the right one" }),
      accept({ token }),
      accept({ token, ...newcomer(), password: "not the right one" }),
      accept({ token }, stranger.token),
      accept({ token }, "no token at all"),
      accept({ token, password: "not the right one" }, stranger.token),
    ]);
    for (const answer of refusals) {
      expect(outcome(answer)).toBe("409 email_taken");
      expect(answer.body.message).toContain("present password");
    }
    const before = (await app.call("GET", "/api/profile", { token: who.token })).body;
    const joined = await accept({ token, ...newcomer(), first_name: "Other", phone: "+4915112345678" }, who.token);
    expect(joined.body.data).toMatchObject({
      user_uuid: who.userUuid,
      org_uuid: owner.org,
      role: "employee",
      expires_in: 420,
      message: expect.any(String),
    });
    expect((await app.call("GET", "/api/profile", { token: who.token })).body).toEqual(before);
    expect(outcome(await accept({ token }, who.token))).toBe("400 invitation_expired");
  });

  it("a token of another person beside the right password counts as none", async () => {
    const [who, stranger] = [await founder(app), await founder(app)];
    const { token } = await invite(app, owner, who.email);
    expect((await accept({ token, password }, stranger.token)).body.data).toMatchObject({ user_uuid: who.userUuid });
  });

  it("a person with an active factor joins when the challenge passes, and not before", async () => {
    const who = await founder(app);
    const { body: factor } = await post("/api/v1/me/mfa/factors", { factor_type: "totp" }, who.token);
    await post(
      `/api/v1/me/mfa/factors/${factor.data.id}/verify`,
      { code: codeAt(factor.data.secret, app.clock.now()) },
      who.token,
    );
    app.clock.advance(30_000);
    const { token } = await invite(app, owner, who.email, 2);
    const asked = await accept({ token, password });
    expect(asked.body).toEqual({ data: { mfa_required: true, mfa_token: expect.any(String) } });
    expect((await show(token)).status).toBe(200);
    const listed = () => app.call("GET", `/api/users?email=${who.email}`, { token: owner.token });
    expect((await listed()).body.data).toEqual([]);
    const challenge = (code: string) =>
      post("/api/auth/mfa/totp/challenge", { mfa_token: asked.body.data.mfa_token, code });
    expect(outcome(await challenge("000000"))).toBe("401 unauthorized");
    expect((await listed()).body.data).toEqual([]);
    const passed = await challenge(codeAt(factor.data.secret, app.clock.now()));
    expect(passed.status).toBe(200);
    expect((await app.call("GET", "/api/auth/me", { token: passed.body.access_token })).body).toMatchObject({
      org_uuid: owner.org,
      roles: ["manager"],
    });
    expect(outcome(await show(token))).toBe("400 invitation_expired");
  });
});

const transports = {
  Connect: (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "1.1" }),
  gRPC: (baseUrl: string) => createGrpcTransport({ baseUrl }),
  "gRPC-Web": (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
};

describe.each(["Connect", "gRPC", "gRPC-Web"] as const)("over %s", (protocol) => {
  it("invitations are created, shown, refused and accepted as over REST", async () => {
    const transport = transports[protocol](app.url);
    const [users, login] = [createClient(UsersService, transport), createClient(LoginService, transport)];
    const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    const who = await founder(app);
    const made = await users.createInvitation({ orgUuid: owner.org, email: who.email, roleId: 3 }, as(owner.token));
    expect(made).toMatchObject({
      email: who.email,
      roleId: 3,
      role: "employee",
      status: "pending",
      invitedBy: owner.userUuid,
    });
    expect(
      await codeOf(users.createInvitation({ orgUuid: owner.org, email: guest(), roleId: 77 }, as(owner.token))),
    ).toBe(Code.NotFound);
    expect(
      await codeOf(users.createInvitation({ orgUuid: owner.org, email: owner.email, roleId: 3 }, as(owner.token))),
    ).toBe(Code.AlreadyExists);
    expect(await codeOf(users.createInvitation({ orgUuid: owner.org, email: guest(), roleId: 3 }, as(who.token)))).toBe(
      Code.NotFound,
    );
    const token = await tokenTo(app, who.email);
    expect(await login.getInvite({ token })).toMatchObject({ email: who.email, orgUuid: owner.org, role: "employee" });
    expect(await codeOf(login.getInvite({ token: "x" }))).toBe(Code.NotFound);
    expect(await codeOf(login.acceptInvite({ token, password: "not the right one" }))).toBe(Code.AlreadyExists);
    expect((await login.acceptInvite({ token }, as(who.token))).data).toMatchObject({
      userUuid: who.userUuid,
      orgUuid: owner.org,
      expiresIn: 420,
    });
    expect(await codeOf(login.acceptInvite({ token }, as(who.token)))).toBe(Code.InvalidArgument);
  });
});
