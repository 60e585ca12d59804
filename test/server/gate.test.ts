import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { registration } from "../../src/platform/rpc.ts";
import { Health } from "../../gen/health/v1/health_pb.ts";
import { app, as, org, otherOrg, start, thing } from "./support.ts";
import type { Running } from "./support.ts";

let server: Running;
beforeAll(async () => void (server = await start()));
afterAll(() => server.close());

async function refusal(path: string, init: Parameters<Running["fetch"]>[1]): Promise<string> {
  const answer = await server.fetch(path, init);
  if (answer.status < 300) return String(answer.status);
  const body = (await answer.json()) as { code: string };
  return `${answer.status} ${body.code}`;
}

const note = { json: { note: "x" } };
const broken = { method: "POST", body: "{broken", headers: { "content-type": "application/json" } };
const orgPath = (where: string, id = thing): string => `/api/orgs/${where}/things/${id}`;

describe("The order of refusals over REST", () => {
  test.each<[string, string, Parameters<Running["fetch"]>[1], string]>([
    ["unknown route before the credential", "/api/none", {}, "404 not_found"],
    ["method before the credential", "/api/me", { method: "DELETE" }, "405 method_not_allowed"],
    ["no credential before a bad id", orgPath("nonsense"), broken, "401 unauthorized"],
    ["unknown token", "/api/me", { token: "forged" }, "401 unauthorized"],
    ["another scheme", "/api/me", { headers: { authorization: "Basic YTpi" } }, "401 unauthorized"],
    ["two tokens", "/api/me", { headers: { authorization: "Bearer admin admin" } }, "401 unauthorized"],
    ["bad id before the tenant", orgPath("nonsense"), { token: "plain", ...broken }, "400 invalid_uuid"],
    [
      "bad device with the ids",
      "/api/me",
      { token: "admin", headers: { "x-device-uuid": "7" } },
      "400 validation_error",
    ],
    ["foreign tenant before powers", orgPath(otherOrg), { token: "plain", ...broken }, "404 org_not_found"],
    ["tenant of a token without organization", orgPath(org), { token: "orgless", ...broken }, "404 org_not_found"],
    ["powers before elevation", orgPath(org), { token: "plain", ...broken }, "403 forbidden"],
    ["a key where a person is needed", orgPath(org), { token: "writer", ...broken }, "403 forbidden"],
    ["elevation before the body", orgPath(org), { token: "admin", ...broken }, "403 step_up_required"],
    ["the body last", orgPath(org), { token: "elevated", ...broken }, "400 bad_request"],
    ["a field of the body", orgPath(org), { token: "elevated", json: {} }, "400 validation_error"],
    ["upper case is the same organization", orgPath(org.toUpperCase()), { token: "elevated", ...note }, "200"],
    ["no organization", "/api/things", { token: "orgless", json: {} }, "403 forbidden"],
    ["read scope on a POST", "/api/things", { token: "reader", json: {} }, "403 forbidden"],
    ["write scope", "/api/things", { token: "writer", json: { name: "abc" } }, "201"],
    ["admin scope", "/api/things", { token: "scoped", json: { name: "abc" } }, "201"],
    [
      "scope before the idempotency key",
      "/api/things",
      { token: "reader", json: {}, headers: { "idempotency-key": "a b" } },
      "403 forbidden",
    ],
    [
      "idempotency key before the body",
      "/api/things",
      { token: "admin", ...broken, headers: { ...broken.headers, "idempotency-key": "a b" } },
      "400 bad_request",
    ],
    ["without_org", "/api/me", { token: "orgless" }, "200"],
    ["app administrators", `/api/apps/${app}`, { token: "admin" }, "200"],
    ["an app of one's own organization", `/api/apps/${app}`, { token: "plain" }, "403 forbidden"],
    ["other apps do not exist", `/api/apps/${thing}`, { token: "admin" }, "404 app_not_found"],
    ["scope of app routes", `/api/apps/${app}`, { token: "reader" }, "403 forbidden"],
  ])("REST requests are refused in order: %s", async (_name, path, init, expected) => {
    expect(await refusal(path, init)).toBe(expected);
  });

  test("the general rate limit comes after the credential and before the path, on every protocol", async () => {
    const limited = await start({ rateLimits: true });
    const path = "/atrium.echo.v1.EchoService/Org";
    const asked = async (token: string, where: string) =>
      (await limited.fetch(orgPath(where), { token, ...broken })).status;
    for (let at = 0; at < 600; at++) await limited.fetch("/api/me", { token: "admin" });
    expect([await asked("admin", "nonsense"), await asked("admin", otherOrg), await asked("admin", org)]).toEqual([
      429, 429, 429,
    ]);
    expect((await limited.fetch(path, { token: "admin", ...broken })).status).toBe(429);
    expect((await limited.fetch("/api/none", { token: "admin" })).status).toBe(404);
    expect((await limited.fetch("/api/me", { method: "DELETE", token: "admin" })).status).toBe(405);
    expect(await asked("forged", "nonsense")).toBe(401);
    await limited.close();
  });

  test("SCIM requires the token of the organization in the path and returns errors of RFC 7644", async () => {
    expect((await server.fetch(`/scim/v2/${org}/Users/1`, { token: "scim" })).status).toBe(200);
    const foreign = await server.fetch(`/scim/v2/${otherOrg}/Users/1`, { token: "scim" });
    expect(foreign.headers.get("content-type")).toBe("application/scim+json");
    expect(await foreign.json()).toMatchObject({
      schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
      status: "404",
      code: "not_found",
    });
    expect((await server.fetch(`/scim/v2/${org}/Users/1`)).status).toBe(401);
  });
});

describe.each(["connect", "connect-json", "grpc", "grpc-web"] as const)("Over %s", (protocol) => {
  async function reason(call: Promise<unknown>): Promise<string> {
    const error = await call.then(
      () => undefined,
      (thrown: unknown) => thrown as ConnectError,
    );
    if (error === undefined) return "ok";
    return error.findDetails(ErrorInfoSchema)[0]?.reason ?? `no reason: ${error.message}`;
  }

  test("the refusals are the same as over REST", async () => {
    const client = server.client(protocol);
    expect(await reason(client.me!({}))).toBe("UNAUTHORIZED");
    expect(await reason(client.me!({}, as("orgless")))).toBe("ok");
    expect(await reason(client.org!({ orgUuid: "x" }, as("plain")))).toBe("INVALID_UUID");
    expect(await reason(client.org!({ orgUuid: otherOrg, thingId: thing }, as("plain")))).toBe("ORG_NOT_FOUND");
    expect(await reason(client.org!({ orgUuid: org, thingId: thing }, as("plain")))).toBe("FORBIDDEN");
    expect(await reason(client.org!({ orgUuid: org, thingId: thing }, as("admin")))).toBe("STEP_UP_REQUIRED");
    expect(await reason(client.org!({ orgUuid: org, thingId: thing }, as("elevated")))).toBe("VALIDATION_ERROR");
    expect(await reason(client.org!({ orgUuid: org, thingId: thing, note: "n" }, as("elevated")))).toBe("ok");
    expect(await reason(client.create!({}, as("reader")))).toBe("FORBIDDEN");
    expect(await reason(client.app!({ appId: app }, as("admin")))).toBe("ok");
    expect(await reason(client.app!({ appId: thing }, as("admin")))).toBe("APP_NOT_FOUND");
    expect(await reason(client.scimUser!({ orgUuid: otherOrg, id: "1" }, as("scim")))).toBe("NOT_FOUND");
    expect(await reason(client.unbuilt!({}))).toBe("UNIMPLEMENTED");
  });
});

test("an unreadable message does not hide that the caller may not call", async () => {
  const send = (token: string): Promise<Response> =>
    server.fetch("/atrium.echo.v1.EchoService/Create", {
      method: "POST",
      token,
      body: "{",
      headers: { "content-type": "application/json" },
    });
  expect((await send("plain")).status).toBe(403);
  expect((await send("admin")).status).toBe(400);
});

test("a procedure checks method, caller and content type in this order", async () => {
  const send = async (procedure: string, init: Parameters<Running["fetch"]>[1]): Promise<string> => {
    const answer = await server.fetch(`/atrium.echo.v1.EchoService/${procedure}`, init);
    const { code, details } = (await answer.json()) as { code: string; details: { debug: { reason: string } }[] };
    return `${answer.status} ${code} ${details[0]?.debug.reason}`;
  };
  const text = { method: "POST", body: "x", headers: { "content-type": "text/plain" } };
  expect(await send("Create", { method: "PUT" })).toBe("405 invalid_argument METHOD_NOT_ALLOWED");
  expect(await send("Create", text)).toBe("401 unauthenticated UNAUTHORIZED");
  expect(await send("Create", { ...text, token: "plain" })).toBe("403 permission_denied FORBIDDEN");
  expect(await send("Create", { ...text, token: "admin" })).toBe("415 invalid_argument UNSUPPORTED_MEDIA_TYPE");
  expect(await send("Me", { token: "admin" })).toBe("415 invalid_argument UNSUPPORTED_MEDIA_TYPE");
  const refused = await server.fetch("/atrium.echo.v1.EchoService/Create", { method: "PUT" });
  expect([refused.headers.get("allow"), refused.headers.get("content-type")]).toEqual([
    "POST, OPTIONS",
    "application/json",
  ]);
});

test("an rpc without declared access stops the start by name", async () => {
  await expect(start({ services: [registration(Health, {})] })).rejects.toThrow(
    /grpc\.health\.v1\.Health\/Check: declares no access[\s\S]*Health\/Watch/,
  );
});
