import { connect as connectH2 } from "node:http2";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { start } from "./support.ts";
import type { Running } from "./support.ts";

/** Longer than a busy machine suspends this process, which is server and client. */
const IDLE_MS = 2_000;

let server: Running;
beforeAll(async () => void (server = await start({ limits: { idleMs: IDLE_MS } })));
afterAll(() => server.close());

const endless = "/api/count?to=4000000000";

describe("A client that reads nothing of its responses", () => {
  test("a client that reads nothing loses its connection over HTTP/1.1", async () => {
    const socket = connect(server.port, "127.0.0.1");
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => undefined);
    socket.write(`GET ${endless} HTTP/1.1\r\nhost: a\r\n\r\n`);
    socket.pause();
    // It continues to send, which does not show that it reads.
    const more = setInterval(() => socket.write("GET /api/hello HTTP/1.1\r\nhost: a\r\n\r\n"), 100);
    await closed;
    clearInterval(more);
  });

  test.each(["/api/count?to=100000", endless, "/api/large?to=900000"])(
    "a client that reads nothing of %s over HTTP/2 loses this stream and no other",
    async (path) => {
      const session = connectH2(server.url, { settings: { initialWindowSize: 0 } });
      const watch = session.request({ ":path": "/api/watch", authorization: "Bearer admin" });
      watch.on("error", () => undefined);
      const stream = session.request({ ":path": path });
      stream.on("error", () => undefined);
      await new Promise((resolve) => stream.once("close", resolve));
      expect(stream.rstCode).toBe(8);
      const hello = session.request({ ":path": "/api/hello", ":method": "HEAD" });
      hello.resume();
      expect(await new Promise((resolve) => hello.once("response", (answer) => resolve(answer[":status"])))).toBe(200);
      session.destroy();
    },
  );

  test("a client that reads nothing at all loses its HTTP/2 connection", async () => {
    const socket = connect(server.port, "127.0.0.1").pause();
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => undefined);
    const frame = (type: number, flags: number, id: number, payload: Buffer): Buffer => {
      const head = Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, id]);
      return Buffer.concat([head, payload]);
    };
    const path = Buffer.from(endless);
    // SETTINGS with the largest window for streams, WINDOW_UPDATE for the connection, and a GET by literals of HPACK.
    socket.write(
      Buffer.concat([
        Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        frame(4, 0, 0, Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])),
        frame(8, 0, 0, Buffer.from([0x7f, 0xff, 0, 0])),
        frame(1, 5, 1, Buffer.concat([Buffer.from([0x82, 0x86, 0x04, path.length]), path])),
      ]),
    );
    // Its own PINGs do not show that it reads.
    const more = setInterval(() => socket.write(frame(6, 0, 0, Buffer.alloc(8))), 100);
    await closed;
    clearInterval(more);
  });

  test.each(["a stream of many messages", "one large answer"])(
    "a client that reads slowly keeps its stream: %s",
    async (what) => {
      const session = connectH2(server.url, { settings: { initialWindowSize: 16_000 } });
      const stream = session.request({ ":path": what === "one large answer" ? "/api/large?to=4000000" : endless });
      let bytes = 0;
      let lost = false;
      stream.on("error", () => (lost = true)).on("close", () => (lost = true));
      stream.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        stream.pause();
        setTimeout(() => stream.resume(), 20);
      });
      const began = performance.now();
      await expect.poll(() => lost || performance.now() - began > 3 * IDLE_MS).toBe(true);
      expect([lost, bytes > 10_000]).toEqual([false, true]);
      session.destroy();
    },
  );
});
