import { connect as connectH2 } from "node:http2";
import { get as getTls } from "node:https";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issue } from "../support/certificates.ts";
import { h2Status, open, SHORT_LIMITS, untilClosed } from "./sockets.ts";
import { heldCalls, start } from "./support.ts";
import type { Running } from "./support.ts";

let server: Running;
/** A server with short time limits, for requests that have to exceed them. */
let strict: Running;
beforeAll(async () => {
  server = await start();
  strict = await start({ limits: SHORT_LIMITS });
});
afterAll(() => Promise.all([server.close(), strict.close()]));

async function raw(text: string, port = server.port): Promise<string> {
  const socket = open(port);
  socket.write(text);
  return untilClosed(socket);
}

const alive = async (): Promise<void> => expect((await server.fetch("/api/hello")).status).toBe(200);

describe("HTTP/1.1", () => {
  test.each([
    ["two Host headers", "GET /api/hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400],
    ["no Host header", "GET /api/hello HTTP/1.1\r\n\r\n", 400],
    [
      "Transfer-Encoding with Content-Length",
      "POST /api/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
      400,
    ],
    ["header block over 16 KiB", `GET /api/hello HTTP/1.1\r\nHost: a\r\nX-Big: ${"x".repeat(64 * 1024)}\r\n\r\n`, 431],
    ["no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400],
    ["a method there is not", "BREW /api/hello HTTP/1.1\r\nHost: a\r\n\r\n", 400],
    ["a tunnel", "CONNECT elsewhere.test:443 HTTP/1.1\r\nHost: elsewhere.test:443\r\n\r\n", 405],
    ["slow headers", "GET /api/hello HTTP/1.1\r\nHost: a\r\nX-Slow", 408],
    [
      "slow body",
      'POST /api/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"em',
      408,
    ],
  ])("a malformed or slow request gets its status: %s", async (_name, text, status) => {
    const answer = await raw(text, status === 408 ? strict.port : server.port);
    expect(answer.split("\r\n")[0]).toContain(`HTTP/1.1 ${status} `);
    expect(answer.toLowerCase()).toContain("connection: close");
    await alive();
  });

  test.each([
    "Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
    "Upgrade\r\nUpgrade: websocket",
  ])("an offer to upgrade is ignored: Connection: %s", async (offer) => {
    const socket = open(server.port);
    socket.write(`GET /api/hello HTTP/1.1\r\nHost: a\r\nConnection: ${offer}\r\n\r\n`);
    const text = await new Promise((resolve) => socket.once("data", (chunk: Buffer) => resolve(chunk.toString())));
    expect(text).toMatch(/^HTTP\/1\.1 200 OK/);
    socket.destroy();
  });

  test("a request without Host gets an error that says so", async () => {
    expect(await raw("GET /api/hello HTTP/1.1\r\n\r\n")).toContain('"message":"There is no Host header."');
    expect(await raw("GET /api/hello HTTP/1.0\r\n\r\n")).toContain(" 200 OK");
  });

  test("a body has its own time limit, whatever was left of that for the headers", async () => {
    const other = await start({ limits: { headersMs: 3_600_000, bodyMs: 200 } });
    const socket = open(other.port);
    socket.write(
      'POST /api/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"em',
    );
    expect(await untilClosed(socket)).toContain("HTTP/1.1 408 ");
    await other.close();
  });

  test("half a preface ends with the time limit of headers", async () => {
    expect(await raw("PR", strict.port)).toBe("");
  });

  test("a request that starts with P and is no preface is served over HTTP/1.1", async () => {
    const socket = open(server.port);
    socket.write("P");
    setTimeout(
      () =>
        socket.write(
          "OST /api/login HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n" +
            'Content-Length: 18\r\n\r\n{"email":"a@b.co"}',
        ),
      50,
    );
    expect(await untilClosed(socket)).toContain("HTTP/1.1 204 ");
  });

  test("idle connections are closed after the idle limit", async () => {
    const socket = open(strict.port);
    const began = performance.now();
    socket.write("GET /api/hello HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(await untilClosed(socket)).toContain("200 OK");
    expect(performance.now() - began).toBeGreaterThan(1_000);
  });

  test("HEAD is possible for a procedure that GET may call", async () => {
    const path = "/atrium.echo.v1.EchoService/Me?connect=v1&encoding=json&message=%7B%7D";
    const headers = { authorization: "Bearer admin" };
    const [head, get] = await Promise.all(["HEAD", "GET"].map((method) => server.fetch(path, { method, headers })));
    expect([head?.status, await head?.text(), head?.headers.get("content-type")]).toEqual([
      200,
      "",
      "application/json",
    ]);
    expect(get?.status).toBe(200);
  });

  test("the absolute form of the request target is routed by its path", async () => {
    expect(await raw("GET http://a/api/hello?name=x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).toContain(
      '"hello x"',
    );
    // Slashes of a query are not part of the path: what a proxy takes for the root must not be another route here.
    for (const target of ["http://a?name=/api/hello", "http://a", "http://a?/api/hello?name=x"]) {
      expect(await raw(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`), target).toContain(
        "no such route",
      );
    }
  });

  test("clients that disconnect do not affect others", async () => {
    for (let at = 0; at < 20; at++) {
      const socket = open(server.port);
      socket.write(
        "GET /api/fail/held HTTP/1.1\r\nHost: a\r\n\r\nGET /api/count?to=100000 HTTP/1.1\r\nHost: a\r\n\r\n",
      );
      setTimeout(() => socket.resetAndDestroy(), 10 + at);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
    await alive();
    heldCalls.release();
  });

  test("1,000 idle connections, the maximum of one address, are accepted", async () => {
    const sockets = Array.from({ length: 1_000 }, () => open(server.port, "127.0.0.2"));
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
    await alive();
    for (const socket of sockets) socket.destroy();
  });
});

describe("Shutdown", () => {
  test("a closing server finishes calls in flight and refuses new ones", async () => {
    const other = await start();
    const h2 = connectH2(other.url);
    h2.on("error", () => undefined);
    const inFlight = [
      other.fetch("/api/fail/held").then((answer) => answer.status),
      h2Status(h2, { ":path": "/api/fail/held" }),
    ];
    await expect.poll(heldCalls.count).toBe(2);
    const idle = open(other.port);
    const closed = other.close(600_000);
    expect((await fetch(`${other.url}/api/hello`)).status).toBe(503);
    heldCalls.release();
    await closed;
    await expect(fetch(`${other.url}/api/hello`)).rejects.toThrow();
    expect(await Promise.all(inFlight)).toEqual([200, 200]);
    idle.destroy();
  });

  test("calls that end within the grace period get their response", async () => {
    const other = await start();
    let status = 0;
    const call = other
      .fetch("/api/fail/held", { headers: { "connect-timeout-ms": "500" } })
      .then((answer) => (status = answer.status));
    await expect.poll(() => heldCalls.count() + status).toBeGreaterThan(0);
    await other.close(600_000);
    expect(await call).toBe(504);
    heldCalls.release();
  });

  test("a port in use fails the start with EADDRINUSE", async () => {
    await expect(start({ port: server.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  });
});

test("TLS offers HTTP/2 and HTTP/1.1 by ALPN", async () => {
  const { key, cert } = await issue(Date.now(), undefined, { commonName: "localhost" });
  const secure = await start({ tls: { key, cert } });
  const h2 = connectH2(secure.url, { rejectUnauthorized: false });
  expect(await h2Status(h2, {})).toBe(200);
  h2.destroy();
  const status = await new Promise((resolve, reject) => {
    getTls(`${secure.url}/api/hello`, { rejectUnauthorized: false, agent: false }, (answer) =>
      resolve(answer.resume().statusCode),
    ).on("error", reject);
  });
  expect(status).toBe(200);
  open(secure.port).end("GET / HTTP/1.1\r\n\r\n");
  await secure.close();
});
