import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_CORS_ORIGINS: "https://console.example" } });
  token = await app.login();
});
afterAll(() => app.close());

/** Sends the path without normalization. */
function send(
  method: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Record<string, unknown>; body: string }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(app.url);
    const sent = httpRequest(
      { hostname, port, method, path, headers: { authorization: `Bearer ${token}`, ...headers } },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
      },
    );
    sent.on("error", reject).end();
  });
}

describe("Paths without a route", () => {
  it.each([
    "/api",
    "/nope",
    "/api/auth/me/",
    "//api/auth/me",
    "/api//auth/me",
    "/API/auth/me",
    "/api/auth/ME",
    "/api/auth/me/x",
    "/api/auth/../auth/me",
    "/api/./auth/me",
    "/api%2Fauth/me",
    "/api/auth%2Fme",
    "/api/auth/me%20",
    "/api/auth/me;x=1",
    "/api/auth/m%65/",
    "/atrium.access.v1.AccessService/Nope",
    "/atrium.access.v1.AccessService/",
    "/atrium.access.v1.accessservice/GetMe",
    "/atrium.nope.v1.X/Y",
    "/grpc.x.Y/Z",
    "/.env",
    "/api/auth/me\\",
    "/*",
  ])("%s returns 404 `no such route`, without redirect", async (path) => {
    const { status, body, headers } = await send("GET", path);
    expect([status, headers["location"]]).toEqual([404, undefined]);
    expect(JSON.parse(body)).toMatchObject({ code: "not_found", message: "no such route", status: 404 });
  });

  it.each([
    "/api/installs/%",
    "/api/installs/%zz",
    "/api/installs/%ff",
    "/api/installs/%00",
    "/api/installs/a%2Fb",
    "/api/installs/..%2F..%2Fetc",
    "/api/installs/%F0%9F%A6%8A",
  ])("%s is refused as a malformed id", async (path) => {
    const { status, body } = await send("GET", path);
    expect(status).toBe(400);
    expect((JSON.parse(body) as { code: string }).code).toMatch(/^(?:invalid_uuid|validation_error|bad_request)$/u);
  });

  it("a percent-encoded slash stays inside its parameter", async () => {
    const { status, body } = await send("GET", "/api/marketplace/a%2Finstall");
    expect([status, (JSON.parse(body) as { code: string }).code]).toEqual([400, "validation_error"]);
  });
});

describe("Methods that a route does not have", () => {
  it.each([
    ["POST", "/api/auth/me", "GET, HEAD"],
    ["DELETE", "/api/auth/login", "POST"],
    ["PROPFIND", "/api/auth/me", "GET, HEAD"],
    ["TRACE", "/api/auth/me", "GET, HEAD"],
    ["PUT", "/api/installs/0b1d2a3e-aaaa-4000-8000-00000000000f", "DELETE, GET, HEAD"],
  ])("%s %s returns 405 with Allow", async (method, path, allow) => {
    const { status, headers } = await send(method, path);
    expect(status).toBe(405);
    expect(
      String(headers["allow"])
        .split(", ")
        .filter((name) => name !== "OPTIONS")
        .sort()
        .join(", "),
    ).toBe(allow);
  });

  it("HEAD returns the status and headers of GET without the body", async () => {
    const [head, get] = [await send("HEAD", "/api/auth/me"), await send("GET", "/api/auth/me")];
    expect([head.status, head.body]).toEqual([200, ""]);
    expect(head.headers["content-length"]).toBe(get.headers["content-length"]);
  });

  it("OPTIONS without CORS returns 204 with Allow", async () => {
    expect(await send("OPTIONS", "/api/auth/me")).toMatchObject({
      status: 204,
      headers: { allow: expect.stringContaining("GET") as string },
    });
  });
});

describe("Queries", () => {
  it.each([
    ["/api/installs?limit=0"],
    ["/api/installs?limit=201"],
    ["/api/installs?limit=x"],
    ["/api/installs?limit=1&limit=2"],
    ["/api/installs?offset=10001"],
    ["/api/installs?offset=-1"],
    ["/api/installs?status=nope"],
    ["/api/marketplace?page=0"],
    ["/api/marketplace?page=1e9"],
    ["/api/auth/events?limit=501"],
    ["/api/auth/events?user_uuid=x"],
  ])("the query %s returns a validation_error", async (path) => {
    const { status, body } = await send("GET", path);
    expect(status).toBe(400);
    expect(JSON.parse(body)).toMatchObject({
      code: "validation_error",
      errors: [{ field: expect.any(String) as string }],
    });
  });

  it.each(["/api/installs?nope=1", "/api/installs?limit=", "/api/installs?status=&offset=", "/api/installs?&&="])(
    "the query %s is accepted",
    async (path) => {
      expect((await send("GET", path)).status).toBe(200);
    },
  );
});

describe("CORS", () => {
  const preflight = (origin: string, path = "/api/auth/me") =>
    send("OPTIONS", path, {
      origin,
      "access-control-request-method": "GET",
      "access-control-request-headers": "authorization, idempotency-key",
    });

  it.each(["/api/auth/me", "/atrium.access.v1.AccessService/GetMe"])(
    "a preflight for %s from a configured origin is allowed",
    async (path) => {
      const { status, headers } = await preflight("https://console.example", path);
      expect(status).toBe(204);
      expect(headers["access-control-allow-origin"]).toBe("https://console.example");
      expect(String(headers["access-control-allow-headers"]).toLowerCase()).toContain("idempotency-key");
      expect(headers["access-control-allow-credentials"]).toBeUndefined();
    },
  );

  it.each([
    "https://evil.example",
    "https://console.example.evil.example",
    "http://console.example",
    "null",
    "https://console.example:444",
    "http://localhost:3000",
  ])("%s gets no CORS headers", async (origin) => {
    for (const { headers } of [await preflight(origin), await send("GET", "/api/auth/me", { origin })]) {
      expect(Object.keys(headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
    }
  });

  it("a response to a configured origin exposes its headers, errors included", async () => {
    for (const path of ["/api/auth/me", "/api/nope", "/atrium.access.v1.AccessService/GetMe"]) {
      const { headers } = await send("GET", path, { origin: "https://console.example" });
      expect(headers["access-control-allow-origin"], path).toBe("https://console.example");
      expect(String(headers["access-control-expose-headers"]).toLowerCase()).toContain("x-request-id");
    }
  });
});
