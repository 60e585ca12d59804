import { connect as connectH2 } from "node:http2";
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defaultLimits } from "../../src/server/transport-limits.ts";
import { open } from "./sockets.ts";
import { start } from "./support.ts";
import type { Running } from "./support.ts";

const MIB = 1024 * 1024;
let server: Running;
beforeAll(async () => void (server = await start({ limits: { bufferedBytes: 4 * MIB } })));
afterAll(() => server.close());

const authorization = "Bearer admin";

function openH2(localAddress: string, settings = {}, to = server): ClientHttp2Session {
  return connectH2(to.url, { settings, createConnection: () => open(to.port, localAddress) }).on(
    "error",
    () => undefined,
  );
}

const large = "/api/large?to=900000";

function get(session: ClientHttp2Session, path: string): ClientHttp2Stream {
  return session.request({ ":path": path }).on("error", () => undefined);
}

const answered = (stream: ClientHttp2Stream): Promise<unknown> =>
  new Promise((resolve) =>
    stream.once("response", (answer) => resolve(answer[":status"])).once("close", () => resolve(stream.rstCode)),
  );

async function statusFrom(localAddress: string, to = server): Promise<unknown> {
  const session = openH2(localAddress, {}, to);
  const status = await answered(get(session, "/api/hello"));
  session.destroy();
  return status;
}

/** Sends `sent` bytes of a body over HTTP/1.1; `answer` resolves to the head of the response, or to `closed`. */
function half(
  localAddress: string,
  head: string,
  sent: number,
  to = server,
): { socket: Socket; answer: Promise<string> } {
  const socket = open(to.port, localAddress);
  const answer = new Promise<string>((resolve) => {
    socket
      .once("data", (chunk: Buffer) => resolve(chunk.toString("latin1").split("\r\n\r\n")[0] ?? ""))
      .once("close", () => resolve("closed"));
  });
  const lines =
    `POST /api/things HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n` +
    `Content-Type: application/json\r\n${head}\r\n\r\n`;
  socket.write(lines + (head.startsWith("Transfer") ? `${MIB.toString(16)}\r\n` : "") + "x".repeat(sent));
  return { socket, answer };
}

test("by default an address has 1,000 connections and 64 MiB of buffers, and 60 s to take what it is sent", () => {
  expect(defaultLimits).toMatchObject({ connections: 1_000, bufferedBytes: 64 * MIB, idleMs: 60_000 });
});

describe("Bytes buffered for one address", () => {
  test("responses over HTTP/2 beyond the limit of buffered bytes end the newest streams alone", async () => {
    const other = openH2("127.0.0.3", { initialWindowSize: 0 });
    const kept = get(other, large);
    expect(await answered(kept)).toBe(200);
    const session = openH2("127.0.0.2", { initialWindowSize: 0 });
    const streams: ClientHttp2Stream[] = [];
    for (let nth = 0; nth < 8; nth++) {
      const stream = get(session, large);
      streams.push(stream);
      await answered(stream);
    }
    await expect.poll(() => streams.filter((stream) => stream.closed).length).toBeGreaterThanOrEqual(4);
    expect(streams.slice(0, 2).map((stream) => stream.closed)).toEqual([false, false]);
    expect(streams.filter((stream) => stream.closed).map((stream) => stream.rstCode)).toContain(11);
    expect([kept.closed, await statusFrom("127.0.0.3"), await statusFrom("127.0.0.2")]).toEqual([false, 200, 200]);
    session.destroy();
    other.destroy();
  });

  test("pipelined responses over HTTP/1.1 beyond the limit of buffered bytes end the newest connections", async () => {
    const flood = (): Socket => {
      const socket = open(server.port, "127.0.0.2").pause();
      socket.write(`GET ${large} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(10));
      return socket;
    };
    const quiet = open(server.port, "127.0.0.2");
    const neighbour = open(server.port, "127.0.0.3");
    const floods: Socket[] = [];
    let closed = 0;
    for (let nth = 0; nth < 8; nth++) floods.push(flood().on("close", () => closed++));
    // A paused socket notices its end only by writing.
    await expect
      .poll(() => {
        for (const socket of floods) if (!socket.destroyed) socket.write("\r\n");
        return closed;
      })
      .toBeGreaterThan(0);
    expect([
      quiet.destroyed,
      neighbour.destroyed,
      await statusFrom("127.0.0.3"),
      await statusFrom("127.0.0.2"),
    ]).toEqual([false, false, 200, 200]);
    for (const socket of [...floods, quiet, neighbour]) socket.destroy();
  });

  test("a request body beyond the limit of buffered bytes is refused by its length, or reset without one", async () => {
    const length = `Content-Length: ${MIB}`;
    const held = Array.from({ length: 4 }, () => half("127.0.0.2", length, 900_000));
    await expect
      .poll(async () => {
        const more = half("127.0.0.2", length, 0);
        const answer = await Promise.race([more.answer, new Promise((resolve) => setTimeout(resolve, 100))]);
        more.socket.destroy();
        return answer;
      })
      .toMatch(/^HTTP\/1\.1 429 [^]*retry-after: 1/iu);
    const unannounced = half("127.0.0.2", "Transfer-Encoding: chunked", 1_000_000);
    expect(await unannounced.answer).toBe("closed");
    const session = openH2("127.0.0.2");
    const stream = session.request({
      ":path": "/api/things",
      ":method": "POST",
      "content-type": "application/json",
      authorization,
    });
    stream.on("error", () => undefined).write("x".repeat(1_000_000));
    expect(await answered(stream)).toBe(11);
    session.destroy();

    const other = half("127.0.0.3", length, 900_000);
    expect(await statusFrom("127.0.0.3")).toBe(200);
    expect(await statusFrom("127.0.0.2")).toBe(200);
    expect([...held, other].map(({ socket }) => socket.destroyed)).toEqual(Array(5).fill(false));
    for (const { socket } of [...held, other]) socket.destroy();
    await expect
      .poll(async () => {
        const again = half("127.0.0.2", "Content-Length: 3", 3);
        const answer = await again.answer;
        again.socket.destroy();
        return answer;
      })
      .toMatch(/^HTTP\/1\.1 400 /u);
  });

  test("buffered bytes are not counted for a trusted proxy", async () => {
    const trusting = await start({ limits: { bufferedBytes: MIB }, isTrusted: (address) => address === "127.0.0.2" });
    const held = Array.from({ length: 4 }, () => half("127.0.0.2", `Content-Length: ${MIB}`, 900_000, trusting));
    const session = openH2("127.0.0.2", {}, trusting);
    expect(await answered(get(session, large))).toBe(200);
    for (const { socket } of held) socket.destroy();
    session.destroy();
    await trusting.close();
  });
});
