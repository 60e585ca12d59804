import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { randomUUID } from "node:crypto";
import { connect } from "node:http2";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { signIn } from "./support.ts";
import type { Held } from "./support.ts";

let app: TestApp;
let second: TestApp;
let ann: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  ann = await founder(app);
});
afterAll(async () => {
  await second.close();
  await app.close();
});

/** A call whose head goes first and whose message follows when `meanwhile` is over; status and code. */
async function late(path: string, token: string, message: unknown, meanwhile: () => Promise<unknown>): Promise<string> {
  const call = request(app.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  });
  const answered = once(call, "response") as Promise<[IncomingMessage]>;
  call.flushHeaders();
  await new Promise((resolve) => setTimeout(resolve, 100));
  await meanwhile();
  call.end(JSON.stringify(message));
  const [answer] = await answered;
  return `${answer.statusCode} ${(JSON.parse(await text(answer)) as { code?: string }).code ?? ""}`.trim();
}

const logout = (session: Held) => second.call("POST", "/api/auth/logout", { token: session.token });

describe("a request body that arrives after the end of the session", () => {
  it.each([
    [
      "a key that would outlive it",
      () => `/api/admin/organizations/${ann.org}/api-keys`,
      { name: "late", scopes: ["admin"] },
    ],
    ["a factor", () => "/api/v1/me/mfa/factors", { factor_type: "totp" }],
    ["a step-up", () => "/api/auth/step-up/challenge", { method: "password" }],
    ["a Connect call", () => "/atrium.access.v1.AccessService/GetMe", {}],
  ])("a late body opens no session: %s", async (_what, path, message) => {
    const session = await signIn(app, ann);
    expect(await late(path(), session.token, message, () => logout(session))).toMatch(/^401 unauth/u);
  });

  it("a late body counts as anonymous on a route that needs no sign-in", async () => {
    const session = await signIn(app, ann);
    expect(await late("/api/organizations", session.token, { name: "Late" }, () => logout(session))).toBe(
      "400 validation_error",
    );
    const next = await signIn(app, ann);
    expect(await late("/api/organizations", next.token, { name: "In time" }, () => Promise.resolve())).toBe("201");
  });

  it("a late body switches to no account when all sessions were ended meanwhile", async () => {
    const device = randomUUID();
    const session = await signIn(app, ann, device);
    const { body } = await app.call("POST", `/api/devices/${device}/accounts`, {
      token: session.token,
      body: { access_token: (await founder(app)).token },
    });
    const everywhere = await elevated(app, (await signIn(app, ann)).token);
    const revokeAll = () =>
      second.call("POST", `/api/organizations/${ann.org}/revoke-all-sessions`, { token: everywhere });
    expect(await late(`/api/devices/${device}/active-account`, session.token, { account_id: body.id }, revokeAll)).toBe(
      "401 unauthorized",
    );
  });

  it("a late message over gRPC opens no session", async () => {
    const session = await signIn(app, ann);
    const client = connect(app.url);
    const stream = client.request({
      ":method": "POST",
      ":path": "/atrium.access.v1.AccessService/GetMe",
      "content-type": "application/grpc",
      te: "trailers",
      authorization: `Bearer ${session.token}`,
    });
    const ended = once(stream, "trailers") as Promise<[Record<string, string>]>;
    stream.resume();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await logout(session);
    stream.end(Buffer.alloc(5));
    const [trailers] = await ended;
    client.close();
    expect(trailers["grpc-status"]).toBe("16");
  });

  it("a late body changes nothing by an API key whose maker has lost the power meanwhile", async () => {
    const owner = await founder(app);
    const admin = await member(app, owner, 1);
    const path = `/api/admin/organizations/${owner.org}/api-keys`;
    const made = await app.call("POST", path, { token: admin.token, body: { name: "late", scopes: ["admin"] } });
    const key = made.body.api_key as string;
    const meters = "/api/billing/metering/meters";
    const meter = (name: string) => ({ name, event_name: name, unit: "call", aggregation: "sum" });
    expect(await late(meters, key, meter("early"), () => Promise.resolve())).toBe("201");
    const demote = () =>
      second.call("PUT", `/api/users/${admin.userUuid}/role`, { token: owner.token, body: { role: "employee" } });
    expect(await late(meters, key, meter("late"), demote)).toBe("403 forbidden");
  });

  it("a late body is served while the session lives", async () => {
    const session = await signIn(app, ann);
    expect(await late("/api/v1/me/mfa/factors", session.token, { factor_type: "totp" }, () => Promise.resolve())).toBe(
      "201",
    );
  });
});
