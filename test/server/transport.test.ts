import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect as connectH2 } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { get as getTls } from "node:https";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { heldCalls, start } from "./support.ts";
import type { Running } from "./support.ts";

let server: Running;
/** A server with short time limits, for requests that have to exceed them. */
let strict: Running;
beforeAll(async () => {
  server = await start();
  strict = await start({ limits: { headersMs: 300, bodyMs: 300, idleMs: 1_500 } });
});
afterAll(() => Promise.all([server.close(), strict.close()]));

function open(port = server.port, localAddress = "127.0.0.1"): Socket {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  socket.on("error", () => undefined);
  return socket;
}

/** Everything the server sends until it closes the connection. */
function untilClosed(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    socket.on("close", () => resolve(text));
  });
}

async function raw(text: string, port = server.port): Promise<string> {
  const socket = open(port);
  socket.write(text);
  return untilClosed(socket);
}

function h2Status(session: ClientHttp2Session, headers: Record<string, string>): Promise<number | string> {
  return new Promise((resolve) => {
    const stream = session.request({ ":path": "/api/hello", ...headers });
    stream.on("response", (answer) => resolve(answer[":status"] ?? 0));
    stream.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
    stream.on("close", () => resolve(`reset ${stream.rstCode}`));
    stream.end();
    stream.resume();
  });
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
    const socket = open();
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
    const socket = open();
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
      const socket = open();
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

describe("HTTP/2", () => {
  async function session(use: (session: ClientHttp2Session) => Promise<void>, url = server.url): Promise<void> {
    const made = connectH2(url);
    made.on("error", () => undefined);
    await use(made);
    made.destroy();
  }

  test("a header block over the limit returns 431", async () => {
    await session(async (h2) => {
      expect(await h2Status(h2, {})).toBe(200);
      expect(await h2Status(h2, { "x-big": "x".repeat(20 * 1024) })).toBe(431);
    });
    await alive();
  });

  test.each([
    ["REST", "/api/login", "application/json", "{"],
    ["Connect", "/atrium.echo.v1.EchoService/Login", "application/json", "{"],
    ["gRPC", "/atrium.echo.v1.EchoService/Login", "application/grpc", "\0\0"],
    ["gRPC-Web", "/atrium.echo.v1.EchoService/Login", "application/grpc-web+proto", "\0\0"],
    ["a stream of Connect", "/atrium.echo.v1.EchoService/Count", "application/connect+proto", "\0\0"],
  ])("a late body of %s ends its stream, trickling or not, and no other", async (_name, path, type, begun) => {
    // The idle limit is long, so that only the limit of bodies can end the streams.
    const patient = await start({ limits: { bodyMs: 400, idleMs: 600_000 } });
    const h2 = connectH2(patient.url).on("error", () => undefined);
    const watch = h2.request({ ":path": "/api/watch", authorization: "Bearer admin" }).on("error", () => undefined);
    const codes = await Promise.all(
      [false, true].map(
        (trickles) =>
          new Promise((resolve) => {
            const stream = h2.request({ ":path": path, ":method": "POST", "content-type": type, te: "trailers" });
            stream.on("error", () => undefined).on("close", () => resolve(stream.rstCode));
            stream.write(begun);
            if (!trickles) return;
            const more = setInterval(() => stream.write("\0"), 50);
            stream.on("close", () => clearInterval(more));
          }),
      ),
    );
    expect(codes).toEqual([8, 8]);
    expect([watch.closed, await h2Status(h2, {})]).toEqual([false, 200]);
    h2.destroy();
    await patient.close();
  });

  test("broken frames and floods of resets close the connection", async () => {
    const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    const bad = open();
    bad.write(Buffer.concat([preface, settings, Buffer.from([255, 255, 255, 99, 255, 255, 255, 255, 255])]));
    await untilClosed(bad);
    const flood = open();
    const frames: Buffer[] = [preface, settings];
    for (let id = 1; id < 4_000; id += 2) {
      // HEADERS with :method GET, :scheme http, :path /, end of headers and stream; then RST_STREAM.
      frames.push(
        Buffer.from([0, 0, 3, 1, 5, 0, 0, id >> 8, id & 255, 0x82, 0x86, 0x84]),
        Buffer.from([0, 0, 4, 3, 0, 0, 0, id >> 8, id & 255, 0, 0, 0, 8]),
      );
    }
    flood.write(Buffer.concat(frames));
    await untilClosed(flood);
    await alive();
  });

  test("a trickling header block ends its connection long before the idle limit, and no other", async () => {
    const patient = await start({ limits: { headersMs: 300 } });
    const h2 = connectH2(patient.url);
    expect(await h2Status(h2, {})).toBe(200);
    const slow = open(patient.port);
    const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    // HEADERS without the end of the block, then a byte of CONTINUATION now and again.
    slow.write(
      Buffer.concat([
        preface,
        Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
        Buffer.from([0, 0, 1, 1, 1, 0, 0, 0, 1, 0x82]),
      ]),
    );
    const trickle = setInterval(() => slow.write(Buffer.from([0, 0, 1, 9, 0, 0, 0, 0, 1, 0x86])), 50);
    await untilClosed(slow);
    clearInterval(trickle);
    expect(await h2Status(h2, {})).toBe(200);
    h2.destroy();
    await patient.close();
  });

  test("a header block that stops ends its connection, whether its frame is complete or not", async () => {
    const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    // HEADERS without END_HEADERS, and the first byte of 50.
    for (const block of [
      [0, 0, 1, 1, 1, 0, 0, 0, 1, 0x82],
      [0, 0, 50, 1, 4, 0, 0, 0, 1, 0x82],
    ]) {
      const slow = open(strict.port);
      slow.write(Buffer.concat([preface, settings, Buffer.from(block)]));
      await untilClosed(slow);
    }
  });

  test("idle HTTP/2 sessions are closed", async () => {
    await session(async (h2) => {
      expect(await h2Status(h2, {})).toBe(200);
      await new Promise((resolve) => h2.once("close", resolve));
    }, strict.url);
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
  const folder = mkdtempSync(join(tmpdir(), "tls-"));
  execFileSync(
    "openssl",
    [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-subj",
      "/CN=localhost",
      "-days",
      "2",
      "-keyout",
      join(folder, "key"),
      "-out",
      join(folder, "cert"),
    ],
    { stdio: "ignore" },
  );
  const [key, cert] = [readFileSync(join(folder, "key")), readFileSync(join(folder, "cert"))];
  rmSync(folder, { recursive: true });
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
