import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AuthEventsService } from "../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { createRestCall, isAtriumError, session } from "../../src/clients/typescript/index.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { clientOf, ownerOf, signedIn } from "./support.ts";
import type { CountingFetch } from "./support.ts";

let app: TestApp;
let orgUuid: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "off" } });
  orgUuid = (await (await signedIn(app)).atrium.access.getMe({})).orgUuid ?? "";
});
afterAll(() => app.close());

/** Sends and takes cookies as a browser does for pages of the service. */
function browse(network: CountingFetch): { cookie: string | undefined; sent: Headers[] } {
  const page: { cookie: string | undefined; sent: Headers[] } = { cookie: undefined, sent: [] };
  network.before = (_rpc, request) => {
    page.sent.push(request.headers);
    request.headers.set("origin", new URL(app.url).origin);
    if (page.cookie !== undefined) request.headers.set("cookie", page.cookie);
    return undefined;
  };
  network.after = (_rpc, response) => {
    const set = response.headers.get("set-cookie")?.split(";")[0];
    if (set !== undefined) page.cookie = set.endsWith("=") ? undefined : set;
    return response;
  };
  return page;
}

describe("a session in a browser", () => {
  it("a session in cookie mode holds no refresh token, and a second client goes on by the cookie", async () => {
    const device = "6f9c3a52-5c35-4e0d-8b0e-0a51c4ab4d11";
    const first = session({ cookie: true, deviceUuid: device });
    const one = clientOf(app, { credential: first });
    const page = browse(one.network);
    const login = await one.atrium.login.login(ownerOf(app));
    expect(login.refreshToken ?? "").toBe("");
    expect(page.sent[0]?.get("x-device-uuid")).toBe(device);
    await first.signIn(login);
    const { data } = await one.atrium.login.listOwnSessions({});
    expect(data.find(({ current }) => current)?.deviceUuid).toBe(device);
    expect(page.sent.at(-1)?.get("x-device-uuid")).toBeNull();

    const two = clientOf(app, { credential: session({ cookie: true }) });
    browse(two.network).cookie = page.cookie;
    expect((await two.atrium.access.getMe({})).email).toBe(app.owner.email);
    expect(two.network.count("Refresh")).toBe(1);
  });

  it("onSignIn runs once for calls whose session is over, and they are repeated", async () => {
    let asked = 0;
    const { atrium, network, credential } = await signedIn(
      app,
      {},
      {
        async onSignIn() {
          asked++;
          await credential.signIn(await clientOf(app).atrium.login.login(ownerOf(app)));
          return true;
        },
      },
    );
    await atrium.login.logout({});
    const answers = await Promise.all(Array.from({ length: 10 }, () => atrium.access.getMe({})));
    expect(new Set(answers.map(({ email }) => email))).toEqual(new Set([app.owner.email]));
    expect(asked).toBe(1);
    expect(network.count("Refresh")).toBe(1);
  });

  it("a person who does not sign in again leaves the refusal; a wrong code asks for no sign-in", async () => {
    let asked = 0;
    const onSignIn = async (): Promise<boolean> => {
      asked++;
      return false;
    };
    const { atrium } = await signedIn(app, {}, { onSignIn });
    const { data: factor } = await atrium.mfa.createFactor({ factorType: "totp" });
    const wrong = atrium.mfa.verifyFactor({ id: factor?.id ?? 0, code: "000000" });
    await expect(wrong).rejects.toMatchObject({ errorCode: "unauthorized" });
    expect(asked).toBe(0);
    await atrium.login.logout({});
    await expect(atrium.access.getMe({})).rejects.toMatchObject({ errorCode: "unauthorized", status: 401 });
    expect(asked).toBe(1);
  });

  it("onStepUp is told the operation, and an elevation that has ended is asked for anew", async () => {
    const asked: string[] = [];
    const { atrium } = await signedIn(
      app,
      {},
      {
        async onStepUp(method) {
          asked.push(method.name);
          const { challengeId } = await atrium.stepUp.createChallenge({ method: "password" });
          return atrium.stepUp.verifyChallenge({ challengeId, password: app.owner.password });
        },
      },
    );
    const rotate = () => atrium.signingKeys.rotateSigningKey({ orgUuid }).catch((error: unknown) => error);
    await rotate();
    // The client's own clock has not moved, so it still holds what the service no longer takes.
    app.clock.advance(16 * 60_000);
    expect(isAtriumError(await rotate(), "step_up_required")).toBe(false);
    expect(asked).toEqual(["RotateSigningKey", "RotateSigningKey"]);
  });

  it("a service that asks for a longer wait than maxRetryAfterMs is not waited for", async () => {
    const { atrium, network } = await signedIn(app, {}, { maxRetryAfterMs: 1_000 });
    const busy = { status: 503, headers: { "content-type": "application/json", "retry-after": "2" } };
    network.before = (rpc) => (rpc === "GetMe" ? new Response('{"code":"unavailable"}', busy) : undefined);
    await expect(atrium.access.getMe({})).rejects.toMatchObject({ errorCode: "unavailable", retryAfterMs: 2_000 });
    expect(network.count("GetMe")).toBe(1);
  });
});

describe("calls over REST", () => {
  const { exportAuditEvents } = AuthEventsService.method;
  const path = () => `/api/organizations/${orgUuid}/audit-events/export?format=ndjson`;

  it("a file is read over REST with the credential, which is renewed", async () => {
    const { credential, network } = await signedIn(app);
    const rest = createRestCall({ baseUrl: `${app.url}/`, credential, fetch: network.fetch });
    app.clock.advance(16 * 60_000);
    const lines = (await (await rest(exportAuditEvents, path())).text()).trim().split("\n");
    expect(JSON.parse(lines[0] ?? "")).toHaveProperty("event_id");
    expect(network.count("Refresh")).toBe(1);
  });

  it("an error over REST is the error of the rpc", async () => {
    const { credential } = await signedIn(app);
    const rest = createRestCall({ baseUrl: app.url, credential });
    await expect(rest(exportAuditEvents, path().replace("ndjson", "xml"))).rejects.toMatchObject({
      errorCode: "validation_error",
      status: 400,
      violations: [{ field: "format" }],
    });
    await expect(createRestCall({ baseUrl: app.url })(exportAuditEvents, path())).rejects.toMatchObject({
      errorCode: "unauthorized",
    });
  });
});
