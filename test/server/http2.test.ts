import { readFileSync } from "node:fs";
import { connect as connectH2 } from "node:http2";
import type { ClientHttp2Session, IncomingHttpHeaders } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { flakyLink } from "../support/flaky-link.ts";
import { h2Status, open, SHORT_LIMITS, untilClosed } from "./sockets.ts";
import { start } from "./support.ts";
import type { Running } from "./support.ts";

let server: Running;
/** A server with short time limits, for requests that have to exceed them. */
let strict: Running;
beforeAll(async () => {
  server = await start();
  strict = await start({ limits: SHORT_LIMITS });
});
afterAll(() => Promise.all([server.close(), strict.close()]));

const alive = async (): Promise<void> => expect((await server.fetch("/api/hello")).status).toBe(200);

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

  test("CONNECT returns 405 with an error body, and its stream ends although the client keeps it open", async () => {
    await session(async (h2) => {
      const stream = h2.request({ ":method": "CONNECT", ":authority": "elsewhere.test:443" });
      let body = "";
      stream.on("data", (chunk: Buffer) => (body += chunk.toString()));
      const headers = await new Promise<IncomingHttpHeaders>((resolve) => stream.once("response", resolve));
      await new Promise((resolve) => stream.once("close", resolve));
      expect(headers).toMatchObject({ ":status": 405, allow: expect.stringContaining("GET") });
      expect([JSON.parse(body), stream.rstCode]).toMatchObject([{ code: "method_not_allowed", status: 405 }, 0]);
      expect(await h2Status(h2, {})).toBe(200);
    });
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
    const bad = open(server.port);
    bad.write(Buffer.concat([preface, settings, Buffer.from([255, 255, 255, 99, 255, 255, 255, 255, 255])]));
    await untilClosed(bad);
    const flood = open(server.port);
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

  test("a trusted proxy's connection survives clients who cancel, that of another client does not", async () => {
    const streamPlaces = { take: async () => () => undefined };
    const [proxied, direct] = [await start({ streamPlaces, isTrusted: () => true }), await start({ streamPlaces })];
    const cancelMany = async (h2: ClientHttp2Session): Promise<void> => {
      for (let round = 0; round < 10 && !h2.closed && !h2.destroyed; round++) {
        const streams = Array.from({ length: 100 }, () =>
          h2.request({ ":path": "/api/watch", authorization: "Bearer admin" }).on("error", () => undefined),
        );
        const closed = streams.map((stream) => new Promise((resolve) => stream.once("close", resolve)));
        await Promise.all(
          streams.map((stream) => new Promise((resolve) => stream.once("response", resolve).once("close", resolve))),
        );
        for (const stream of streams) stream.close(8 /* CANCEL */);
        await Promise.all(closed);
      }
    };
    await session(async (h2) => {
      await cancelMany(h2);
      expect(await h2Status(h2, {})).toBe(200);
    }, proxied.url);
    await session(async (h2) => {
      const closed = new Promise((resolve) => h2.once("close", resolve));
      await cancelMany(h2);
      await closed;
    }, direct.url);
    await Promise.all([proxied.close(), direct.close()]);
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

  test("a quiet stream gets a PING, and continues", async () => {
    await session(async (h2) => {
      const stream = h2.request({ ":path": "/api/watch", authorization: "Bearer admin" }).resume();
      for (const _ of [1, 2, 3]) await new Promise((resolve) => h2.once("ping", resolve));
      expect([stream.closed, await h2Status(h2, {})]).toEqual([false, 200]);
    }, strict.url);
  });

  test("a connection with a quiet stream ends when its client has vanished", async () => {
    const places = new Set<object>();
    const take = async () => {
      const place = {};
      places.add(place);
      return () => void places.delete(place);
    };
    const watched = await start({ limits: SHORT_LIMITS, streamPlaces: { take } });
    const link = await flakyLink({ host: "127.0.0.1", port: watched.port });
    await session(async (h2) => {
      const stream = h2.request({ ":path": "/api/watch", authorization: "Bearer admin" });
      await new Promise((resolve) => stream.once("data", resolve));
      link.deafen();
      expect(places.size).toBe(1);
      await expect.poll(() => places.size).toBe(0);
    }, `http://127.0.0.1:${link.port}`);
    await link.close();
    await watched.close();
  });

  test.runIf(process.platform === "linux")("accepted connections probe clients that send nothing", async () => {
    const socket = open(server.port);
    await new Promise((resolve) => socket.once("connect", resolve));
    const hex = (port = 0): string => port.toString(16).toUpperCase().padStart(4, "0");
    const line = new RegExp(`:${hex(server.port)} \\S+:${hex(socket.localPort)} 01 \\S+ 02:`, "u");
    // `02`: the timer of keepalive is running.
    await expect.poll(() => readFileSync("/proc/net/tcp", "utf8")).toMatch(line);
    socket.destroy();
  });

  test("idle HTTP/2 sessions are closed", async () => {
    await session(async (h2) => {
      expect(await h2Status(h2, {})).toBe(200);
      await new Promise((resolve) => h2.once("close", resolve));
    }, strict.url);
  });
});
