import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ConnectError } from "@connectrpc/connect";
import { Code } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/health/v1/health_pb.ts";
import { as, start } from "./support.ts";
import type { Running } from "./support.ts";

let server: Running;
let ready = true;
beforeAll(async () => void (server = await start({ rateLimits: true, ready: () => ready })));
afterAll(() => server.close());

const code = (call: Promise<unknown>): Promise<Code | "ok"> =>
  call.then(
    () => "ok",
    (error: unknown) => (error as ConnectError).code,
  );

describe("CORS", () => {
  const preflight = {
    method: "OPTIONS",
    headers: {
      origin: "https://app.test",
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization",
    },
  };

  test.each(["/api/things", "/atrium.echo.v1.EchoService/Create"])(
    "a preflight of %s from a configured origin is allowed",
    async (path) => {
      const answer = await server.fetch(path, preflight);
      expect(answer.status).toBe(204);
      expect(answer.headers.get("access-control-allow-origin")).toBe("https://app.test");
      expect(answer.headers.get("access-control-allow-methods")).toContain("POST");
      expect(answer.headers.get("access-control-allow-headers")).toMatch(/idempotency-key.*x-device-uuid/);
      expect(answer.headers.has("access-control-allow-credentials")).toBe(false);
    },
  );

  test.each([
    ["/api/hello", {}],
    ["/api/nope", {}],
    ["/atrium.echo.v1.EchoService/Nope", { json: {} }],
    ["/atrium.echo.v1.EchoService/Hello", { json: {} }],
    ["/atrium.echo.v1.EchoService/Me", { json: {} }],
  ])("a response of %s to a configured origin has CORS headers, errors included", async (path, init) => {
    const answer = await server.fetch(path, { ...init, headers: { origin: "https://app.test" } });
    expect(answer.headers.get("access-control-allow-origin")).toBe("https://app.test");
    expect(answer.headers.get("access-control-expose-headers")).toContain("x-request-id");
    expect(answer.headers.get("vary")).toContain("Origin");
  });

  test.each(["/api/hello", "/atrium.echo.v1.EchoService/Hello?connect=v1&encoding=json&message=%7B%7D"])(
    "what caches may keep of %s varies by origin, whoever asks",
    async (path) => {
      for (const headers of [{}, { origin: "https://app.test" }, { origin: "https://evil.test" }])
        expect((await server.fetch(path, { headers })).headers.get("vary")).toContain("Origin");
    },
  );

  test("without configured origins nothing varies by origin", async () => {
    const closed = await start({ corsOrigins: [] });
    const answer = await closed.fetch("/api/hello", { headers: { origin: "https://app.test" } });
    expect([answer.status, answer.headers.get("vary")]).toEqual([200, null]);
    await closed.close();
  });

  test("other origins get no CORS headers, and OPTIONS without CORS lists the allowed methods", async () => {
    const foreign = await server.fetch("/api/hello", { headers: { origin: "https://evil.test" } });
    expect([foreign.status, foreign.headers.has("access-control-allow-origin")]).toEqual([200, false]);
    const options = await server.fetch("/api/things", { method: "OPTIONS" });
    expect([options.status, options.headers.get("allow")]).toEqual([204, "POST, OPTIONS"]);
    const procedure = await server.fetch("/atrium.echo.v1.EchoService/Me", { method: "OPTIONS" });
    expect([procedure.status, procedure.headers.get("allow")]).toEqual([204, "POST, GET, HEAD, OPTIONS"]);
    const wrong = await server.fetch("/atrium.echo.v1.EchoService/Create?connect=v1&encoding=json&message=%7B%7D");
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  });

  test.each([undefined, "application/json", "application/connect+json", "application/grpc-web"])(
    "a stream over Connect allows no GET, whatever content type (%s) a GET has",
    async (type) => {
      const path = "/atrium.echo.v1.EchoService/Watch";
      const options = await server.fetch(path, { method: "OPTIONS" });
      expect([options.status, options.headers.get("allow")]).toEqual([204, "POST, OPTIONS"]);
      const headers = type === undefined ? {} : { "content-type": type };
      const get = await server.fetch(`${path}?connect=v1&encoding=json&message=%7B%7D`, { headers });
      expect([get.status, get.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
    },
  );

  test("any loopback origin is allowed in development", async () => {
    const development = await start({ corsOrigins: "loopback" });
    const allowed = async (origin: string): Promise<boolean> =>
      (await development.fetch("/api/hello", { headers: { origin } })).headers.has("access-control-allow-origin");
    expect(
      await Promise.all(["http://localhost:5173", "http://127.0.0.1:1", "http://[::1]:3000"].map(allowed)),
    ).toEqual([true, true, true]);
    expect(await Promise.all(["http://localhost.evil.test", "http://10.0.0.1", "null"].map(allowed))).toEqual([
      false,
      false,
      false,
    ]);
    await development.close();
  });
});

describe("Idempotency-Key", () => {
  test("an Idempotency-Key returns the first response again, over every protocol", async () => {
    const headers = { "idempotency-key": "k-1" };
    const first = await server.fetch("/api/things", { token: "admin", json: { name: "abc" }, headers });
    const again = await server.fetch("/api/things", { token: "admin", json: { name: "abc" }, headers });
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([201, null]);
    expect([again.status, again.headers.get("idempotent-replayed"), again.headers.get("cache-control")]).toEqual([
      201,
      "true",
      "no-store",
    ]);
    const answer = (await first.json()) as { number: number };
    expect(await again.json()).toEqual(answer);
    for (const protocol of ["connect", "connect-json", "grpc", "grpc-web"] as const) {
      expect((await server.client(protocol).create!({ name: "abc" }, as("admin", headers)))["number"]).toBe(
        answer.number,
      );
    }
  });

  test("an Idempotency-Key is refused with another body, free for another principal and after a refusal", async () => {
    const post = (token: string, name: string): Promise<Response> =>
      server.fetch("/api/things", { token, json: { name }, headers: { "idempotency-key": "k-2" } });
    expect((await post("admin", "x")).status).toBe(400);
    expect((await post("admin", "abc")).status).toBe(201);
    expect(await (await post("admin", "def")).json()).toMatchObject({ code: "idempotency_mismatch", status: 422 });
    expect((await post("writer", "def")).status).toBe(201);
  });
});

describe("Rate limits", () => {
  test("login counts valid tries by address and email", async () => {
    const login = (email: string): Promise<Response> => server.fetch("/api/login", { json: { email } });
    for (let at = 0; at < 20; at++) expect((await login("nobody")).status).toBe(400);
    for (let at = 0; at < 10; at++) expect((await login("A@x.test")).status).toBe(204);
    const limited = await login("a@x.test ");
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(await code(server.client("grpc").login!({ email: "a@x.test" }))).toBe(Code.ResourceExhausted);
    expect((await login("b@x.test")).status).toBe(204);
  });

  test("audit is limited even where limits are off, and other rpcs are not", async () => {
    const lenient = await start({ rateLimits: false });
    const statuses: number[] = [];
    for (let at = 0; at < 61; at++) statuses.push((await lenient.fetch("/api/audit", { token: "admin" })).status);
    expect([statuses[59], statuses[60]]).toEqual([200, 429]);
    for (let at = 0; at < 12; at++)
      expect((await lenient.fetch("/api/login", { json: { email: "a@x.test" } })).status).toBe(204);
    await lenient.close();
  });
});

describe("Health and reflection", () => {
  test("health supports check, list and watch", async () => {
    const health = server.client("grpc", Health);
    expect((await health.check!({}))["status"]).toBe(Status.SERVING);
    expect((await health.check!({ service: "atrium.echo.v1.EchoService" }))["status"]).toBe(Status.SERVING);
    expect(await code(health.check!({ service: "none" }))).toBe(Code.NotFound);
    const seen: unknown[] = [];
    for await (const { status } of health.watch!({})) {
      seen.push(status);
      ready = false;
      if (seen.length === 2) break;
    }
    ready = true;
    expect(seen).toEqual([Status.SERVING, Status.NOT_SERVING]);
  });

  test("buf curl works by reflection, without files", async () => {
    const buf = fileURLToPath(new URL("../../node_modules/.bin/buf", import.meta.url));
    const url = `${server.url}/atrium.echo.v1.EchoService/Hello`;
    const { stdout } = await promisify(execFile)(buf, [
      "curl",
      "--http2-prior-knowledge",
      "--protocol",
      "grpc",
      "-d",
      '{"name":"buf"}',
      url,
    ]);
    expect(JSON.parse(stdout)).toEqual({ greetingText: "hello buf" });
  });

  test("reflection is absent where it is off", async () => {
    const closed = await start({ reflection: false });
    const answer = await closed.fetch("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", {
      method: "POST",
      headers: { "content-type": "application/grpc" },
    });
    expect(answer.headers.get("grpc-status")).toBe("12");
    await closed.close();
  });
});

describe("Other rules", () => {
  test("Connect GET works for rpcs whose bindings are all GET, and for no others", async () => {
    const query = `?connect=v1&encoding=json&message=${encodeURIComponent('{"name":"get"}')}`;
    expect(await (await server.fetch(`/atrium.echo.v1.EchoService/Hello${query}`)).json()).toEqual({
      greeting_text: "hello get",
      flag: false,
    });
    expect((await server.fetch(`/atrium.echo.v1.EchoService/Create${query}`, { token: "admin" })).status).toBe(405);
  });

  test("Connect JSON prints the names of the contract and accepts either spelling", async () => {
    const answer = await server.fetch("/atrium.echo.v1.EchoService/Hello", { json: { name: "a", unknown: 1 } });
    expect(await answer.json()).toEqual({ greeting_text: "hello a", flag: false });
  });

  test("metrics count by rpc, protocol and code", async () => {
    await server.fetch("/api/me");
    const text = await server.metrics.text();
    expect(text).toMatch(/atrium_rpc_requests_total\{rpc="atrium\.echo\.v1\.EchoService\/Hello",protocol="rest"\} \d/);
    expect(text).toMatch(
      /atrium_rpc_errors_total\{rpc="atrium\.echo\.v1\.EchoService\/Me",protocol="rest",code="unauthorized"\} \d/,
    );
    expect(text).toMatch(
      /atrium_rpc_duration_seconds_bucket\{rpc="atrium\.echo\.v1\.EchoService\/Hello",protocol="rest",le="\+Inf"\} \d/,
    );
  });

  test("a service registered twice stops the start", async () => {
    const { registration } = await import("../../src/platform/rpc.ts");
    const { EchoService } = await import("./contract.ts");
    await expect(start({ services: [registration(EchoService, {}), registration(EchoService, {})] })).rejects.toThrow(
      /EchoService: is registered twice/,
    );
  });
});
