import { setImmediate as afterPoll, setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { open } from "./sockets.ts";
import { start } from "./support.ts";
import type { Running } from "./support.ts";

let server: Running;
beforeAll(async () => void (server = await start()));
afterAll(() => server.close());

/** Streams that the service lets a connection have at once. */
const STREAMS = 128;
/** After a refusal the service reads on for 400 ms, and resets a stream that has not ended 100 ms later. */
const LINGERED_MS = 420;
const STALL_MS = 200;

const [DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY] = [0, 1, 3, 4, 7];
const [END_STREAM, ACK, END_HEADERS] = [1, 1, 4];

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header block of literals (RFC 7541 §6.2.2). */
function block(headers: Record<string, string>): Buffer {
  const all = { ":scheme": "http", ":authority": "a", ...headers };
  const literal = (text: string): Buffer => Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
  return Buffer.concat(Object.entries(all).flatMap(([name, value]) => [Buffer.of(0), literal(name), literal(value)]));
}

test("a body that ends while the service is busy leaves its place to the next stream of the connection", async () => {
  const socket = open(server.port);
  let received = Buffer.alloc(0);
  const frames: { type: number; flags: number }[] = [];
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (let end; received.length >= 9 && received.length >= (end = 9 + received.readUIntBE(0, 3)); ) {
      frames.push({ type: received.readUInt8(3), flags: received.readUInt8(4) });
      received = received.subarray(end);
    }
  });
  const tooLarge = Buffer.alloc(105);
  tooLarge.writeUInt32BE(1_200_000, 1);
  const login = {
    ":method": "POST",
    ":path": "/atrium.echo.v1.EchoService/Login",
    "content-type": "application/grpc-web+proto",
  };
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  socket.write(Buffer.concat([frame(SETTINGS, 0, 0), frame(SETTINGS, ACK, 0)]));
  socket.write(Buffer.concat([frame(HEADERS, END_HEADERS, 1, block(login)), frame(DATA, 0, 1, tooLarge)]));
  const isAnswered = (): boolean => frames.some(({ type, flags }) => type === DATA && flags === END_STREAM);
  await expect.poll(isAnswered, { interval: 5 }).toBe(true);
  const hello = block({ ":method": "GET", ":path": "/api/hello" });
  const next = Array.from({ length: STREAMS }, (_, nth) =>
    frame(HEADERS, END_HEADERS | END_STREAM, 3 + 2 * nth, hello),
  );
  await sleep(LINGERED_MS);
  // The service runs in this process, whose next turn begins with the timers that are due by then.
  await afterPoll();
  const isReset = frames.some(({ type }) => type === RST_STREAM);
  socket.write(Buffer.concat([frame(DATA, END_STREAM, 1), ...next]));
  for (const until = performance.now() + STALL_MS; performance.now() < until; );
  // On a machine that let the reset go out before, nothing can be seen.
  if (isReset) return socket.destroy();
  await expect.poll(() => frames.filter(({ type }) => type === HEADERS || type === GOAWAY).length).toBeGreaterThan(64);
  expect(frames.filter(({ type }) => type === GOAWAY)).toEqual([]);
  socket.destroy();
});
