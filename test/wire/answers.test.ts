import { connect as connectH2 } from "node:http2";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMetrics } from "../../src/platform/metrics.ts";
import { createMetricsPort } from "../../src/server/metrics-port.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_CORS_ORIGINS: "https://console.example" } });
  token = await app.login();
});
afterAll(() => app.close());

/** Everything the server sends in response to these bytes until it closes, or until `enough` returns true. */
function raw(text: string, enough: (answer: string) => boolean = () => false, on = app): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(on.url).port), "127.0.0.1");
    let answer = "";
    socket.on("error", () => undefined).on("close", () => resolve(answer));
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1");
      if (enough(answer)) socket.destroy();
    });
    socket.write(text);
  });
}

const nosniff = "x-content-type-options: nosniff";
const origin = "https://console.example";
const json = { "content-type": "application/json" };
const preflight = { origin, "access-control-request-method": "POST" };
const getMe = "/atrium.access.v1.AccessService/GetMe";

describe("X-Content-Type-Options: nosniff", () => {
  it.each<[string, string, string, Record<string, string>]>([
    ["a success", "GET", "/api/auth/me", {}],
    ["HEAD", "HEAD", "/api/auth/me", {}],
    ["an empty success", "POST", "/api/auth/logout", {}],
    ["401", "GET", "/api/auth/me", { authorization: "Bearer x" }],
    ["400 of the path", "GET", "/api/organizations/x", {}],
    ["an unknown route", "GET", "/nope", {}],
    ["405", "PUT", "/api/auth/me", {}],
    ["415", "POST", "/api/auth/login", { "content-type": "text/plain" }],
    ["OPTIONS of a route", "OPTIONS", "/api/auth/me", {}],
    ["a preflight of a route", "OPTIONS", "/api/auth/login", preflight],
    ["a preflight of a procedure", "OPTIONS", getMe, preflight],
    ["OPTIONS of a procedure", "OPTIONS", getMe, {}],
    ["a Connect call", "POST", getMe, json],
    ["a refused Connect call", "POST", getMe, { ...json, authorization: "" }],
    ["405 of a procedure", "PUT", getMe, json],
    ["415 of a procedure", "POST", getMe, { "content-type": "text/plain" }],
    ["an unknown procedure", "POST", "/atrium.access.v1.AccessService/Nope", json],
    ["a gRPC-Web call", "POST", getMe, { "content-type": "application/grpc-web+proto" }],
    ["a SCIM refusal", "GET", "/scim/v2/organizations/0b1d2a3e-aaaa-4000-8000-00000000000f/Users", {}],
    ["the health page", "GET", "/healthz", {}],
    ["the readiness page", "GET", "/readyz", {}],
    ["the metrics", "GET", "/metrics", {}],
    ["the index", "GET", "/", {}],
    ["the mailbox page", "GET", "/dev/mailbox", {}],
    ["the mailbox as JSON", "GET", "/dev/mailbox.json", {}],
    ["a key set", "GET", "/.well-known/jwks.json", {}],
    ["a picture", "GET", "/api/profile/picture", {}],
  ])("nosniff is sent with %s", async (_what, method, path, headers) => {
    const body = method === "POST" ? "{}" : "";
    const lines = Object.entries({ authorization: `Bearer ${token}`, ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    const answer = await raw(
      `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n` +
        `content-length: ${body.length}\r\n${lines.join("")}\r\n${body}`,
    );
    expect(answer.split("\r\n\r\n")[0]?.toLowerCase()).toContain(nosniff);
    if (path === "/api/auth/logout") token = await app.login();
  });

  it.each([
    ["400 of a head", "GET /api/auth/me HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"],
    ["400 of no HTTP", "\x16\x03\x01\r\n\r\n"],
    ["431", `GET / HTTP/1.1\r\nHost: a\r\nX-Big: ${"x".repeat(20_000)}\r\n\r\n`],
  ])("nosniff is sent with %s", async (_what, text) => {
    expect((await raw(text)).toLowerCase()).toContain(nosniff);
  });

  it("nosniff is sent over HTTP/2, gRPC included", async () => {
    const session = connectH2(app.url);
    const seen = (headers: Record<string, string>) =>
      new Promise<unknown>((resolve) => {
        const stream = session.request({ authorization: `Bearer ${token}`, ...headers });
        stream
          .on("response", (answer) => resolve(answer["x-content-type-options"]))
          .resume()
          .end();
      });
    const grpc = { ":method": "POST", "content-type": "application/grpc", te: "trailers" };
    for (const headers of [
      { ":path": "/api/auth/me" },
      { ":path": "/nope" },
      { ":path": "/readyz" },
      { ":path": getMe, ...grpc },
      { ":path": "/a.b/C", ...grpc },
    ]) {
      expect(await seen(headers), headers[":path"]).toBe("nosniff");
    }
    session.close();
  });

  it("nosniff is sent on the metrics port", async () => {
    const port = createMetricsPort({
      host: "127.0.0.1",
      port: 0,
      metrics: createMetrics(),
      readiness: () => Promise.resolve({ isReady: true, report: {} }),
    });
    await port.listen();
    const base = `http://127.0.0.1:${port.address().port}`;
    const answers = await Promise.all(["/metrics", "/%6detrics", "/nope"].map((path) => fetch(base + path)));
    expect(answers.map((answer) => [answer.status, answer.headers.get("x-content-type-options")])).toEqual([
      [200, "nosniff"],
      [404, "nosniff"],
      [404, "nosniff"],
    ]);
    await port.close();
  });
});

describe("Metrics", () => {
  const encoded = ["/metrics", "/%6detrics", "/%6Detrics", "/metric%73"];
  const others = ["/./metrics", "//metrics", "/metrics/", "/x/../metrics", "/metrics%2f", "/%256detrics"];
  const isServed = async (path: string, on = app): Promise<boolean> => {
    const answer = await raw(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, undefined, on);
    expect(answer, path).toMatch(/^HTTP\/1.1 (?:200 [^]*# HELP |404 )/u);
    return answer.startsWith("HTTP/1.1 200 ");
  };

  it("metrics are served under every encoding of their path, and under no other path", async () => {
    for (const path of encoded) expect(await isServed(path), path).toBe(true);
    for (const path of others) expect(await isServed(path), path).toBe(false);
  });

  it("with SERVICE_METRICS_PORT no form of the path is served on the main port", async () => {
    const other = await startApp({ env: { SERVICE_METRICS_PORT: "0" } });
    for (const path of [...encoded, ...others]) expect(await isServed(path, other), path).toBe(false);
    await other.close();
  });
});

describe("Expect: 100-continue", () => {
  const head = (path: string, length: number, headers = ""): string =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${length}\r\n${headers}\r\n`;
  const tooLong = 2 ** 20 + 1;
  const whole = (answer: string): boolean => answer.includes("\r\n\r\n{") && answer.endsWith("}");

  it.each<[string, string, number, string]>([
    ["is refused with 413 at once when it is too long", head("/api/auth/login", tooLong), 413, "payload_too_large"],
    [
      "is refused with 413 at once over Connect",
      head("/atrium.login.v1.LoginService/Login", tooLong),
      413,
      "resource_exhausted",
    ],
    ["is refused with 401 at once", head("/api/organizations", 10), 401, "unauthorized"],
    ["is refused with 404 at once", head("/nope", 10), 404, "not_found"],
  ])("a body announced with Expect %s, and the connection is closed", async (what, text, status, code) => {
    if (what.includes("401")) text = head("/api/auth/step-up/challenge", 10);
    const answer = await raw(text);
    expect(answer).not.toContain("100 Continue");
    expect(answer).toMatch(
      status === 413 && code === "resource_exhausted"
        ? /^HTTP\/1\.1 (?:413|429) /
        : new RegExp(`^HTTP/1\\.1 ${status} `, "u"),
    );
    expect(answer).toContain(`"code":"${code}"`);
    expect(answer.toLowerCase()).toContain("connection: close");
  });

  it("a body announced with Expect is requested where it will be read, and the connection is kept", async () => {
    const body = JSON.stringify({ email: "nobody@acme.test", password: "x", org_name: "Acme" });
    const socket = connect(Number(new URL(app.url).port), "127.0.0.1");
    let answer = "";
    const until = (found: (text: string) => boolean) =>
      new Promise<void>((resolve) => socket.on("data", () => found(answer) && resolve()));
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString("latin1")));
    const asked = until((text) => text.includes("HTTP/1.1 100 Continue\r\n\r\n"));
    socket.write(head("/api/auth/login", body.length));
    await asked;
    const answered = until(whole);
    socket.write(body);
    await answered;
    expect(answer).toMatch(/HTTP\/1\.1 401 /u);
    expect(answer.toLowerCase()).not.toContain("connection: close");
    answer = "";
    const again = until(whole);
    socket.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    await again;
    expect(answer).toMatch(/^HTTP\/1\.1 200 /u);
    socket.destroy();
  });

  it("a body announced with Expect over HTTP/2 is refused or requested alike", async () => {
    const session = connectH2(app.url);
    const send = (length: number) =>
      new Promise<[boolean, number]>((resolve) => {
        let asked = false;
        const stream = session.request({
          ":method": "POST",
          ":path": "/api/auth/login",
          expect: "100-continue",
          "content-type": "application/json",
          "content-length": length,
        });
        stream.on("continue", () => {
          asked = true;
          stream.end("x".repeat(length));
        });
        stream
          .on("response", (headers) => resolve([asked, headers[":status"] ?? 0]))
          .on("error", () => undefined)
          .resume();
      });
    expect(await send(10)).toEqual([true, 400]);
    expect(await send(tooLong)).toEqual([false, 413]);
    session.destroy();
  });
});

describe("Content types", () => {
  const post = (length: string, body: string): Promise<string> =>
    raw(`POST /api/auth/login HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${length}\r\n\r\n${body}`);

  it("a body without a content type returns 415, with a length and chunked", async () => {
    for (const answer of [
      await post("Content-Length: 2", "{}"),
      await post("Transfer-Encoding: chunked", "2\r\n{}\r\n0\r\n\r\n"),
    ]) {
      expect(answer).toMatch(/^HTTP\/1\.1 415 /u);
      expect(answer).toContain("unsupported_media_type");
    }
  });

  it("an empty body needs no content type", async () => {
    for (const answer of [await post("Content-Length: 0", ""), await post("Transfer-Encoding: chunked", "0\r\n\r\n")]) {
      expect(answer).toMatch(/^HTTP\/1\.1 400 /u);
    }
  });
});

describe("CORS", () => {
  const list = (value: string | null): string[] => (value ?? "").split(", ").sort();

  it("CORS allows and exposes exactly what the decisions list", async () => {
    for (const path of ["/api/auth/login", getMe, "/nope"]) {
      const asked = await fetch(app.url + path, { method: "OPTIONS", headers: preflight });
      expect(list(asked.headers.get("access-control-allow-headers")), path).toEqual(
        [
          "authorization",
          "content-type",
          "connect-protocol-version",
          "connect-timeout-ms",
          "connect-accept-encoding",
          "connect-content-encoding",
          "grpc-timeout",
          "x-grpc-web",
          "x-user-agent",
          "idempotency-key",
          "x-device-uuid",
          "x-request-id",
          "if-match",
          "if-none-match",
          "traceparent",
          "tracestate",
        ].sort(),
      );
      const answer = await fetch(app.url + path, { method: "POST", headers: { origin, ...json }, body: "{}" });
      expect(list(answer.headers.get("access-control-expose-headers")), path).toEqual(
        [
          "grpc-status",
          "grpc-message",
          "grpc-status-details-bin",
          "grpc-encoding",
          "grpc-accept-encoding",
          "www-authenticate",
          "retry-after",
          "etag",
          "location",
          "link",
          "content-disposition",
          "x-request-id",
          "idempotent-replayed",
        ].sort(),
      );
      expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
    }
  });
});
