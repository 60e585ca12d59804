import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import type { Transport } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LoginService } from "../../gen/atrium/login/v1/login_pb.ts";
import { SessionsService } from "../../gen/atrium/sessions/v1/sessions_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, mailsTo } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
});
afterAll(() => app.close());

const codeOf = (call: Promise<unknown>): Promise<Code> =>
  call.then(
    () => Promise.reject(new Error("accepted")),
    (error: unknown) => ConnectError.from(error).code,
  );

describe.each([
  ["Connect", (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
  ["gRPC", (baseUrl: string) => createGrpcTransport({ baseUrl })],
  ["gRPC-Web", (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
] satisfies [string, (baseUrl: string) => Transport][])("sign-in and sessions over %s", (name, transport) => {
  it("sign-in and sessions behave as over REST", async () => {
    const login = createClient(LoginService, transport(app.url));
    const email = `${name.toLowerCase()}@protocols.test`;
    expect((await login.sendOtp({ email })).message).toContain("sent");
    const code = /^ {4}(\d{6})$/mu.exec((await mailsTo(app, email)).at(-1)?.text ?? "")?.[1] ?? "";
    expect(await login.verifyOtp({ email, code })).toMatchObject({ tokenType: "Bearer", expiresIn: 420 });
    expect(await codeOf(login.verifyOtp({ email, code }))).toBe(Code.Unauthenticated);
    expect(await codeOf(login.resetPassword({ token: "x", password: "quite a long one" }))).toBe(Code.InvalidArgument);

    const sessions = createClient(SessionsService, transport(app.url));
    const as = { headers: { authorization: `Bearer ${owner.token}` } };
    const { data, total } = await sessions.listOrganizationSessions({ orgUuid: owner.org }, as);
    expect([data.length, total]).toEqual([1, 1]);
    const deviceUuid = data[0]?.deviceUuid ?? "";
    expect((await sessions.listDeviceAccounts({ deviceUuid }, as)).data).toMatchObject([
      { userUuid: owner.userUuid, isActive: true },
    ]);
    expect(await codeOf(sessions.addDeviceAccount({ deviceUuid, accessToken: owner.token }, as))).toBe(
      Code.AlreadyExists,
    );
    expect(await codeOf(sessions.revokeAllOrganizationSessions({ orgUuid: owner.org }, as))).toBe(
      Code.PermissionDenied,
    );
  });
});
