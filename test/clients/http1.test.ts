import { create, toBinary } from "@bufbuild/protobuf";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GetMeResponseSchema } from "../../gen/atrium/access/v1/access_pb.ts";
import { languages } from "./driver.ts";
import type { Driver } from "./driver.ts";

/** What a server sends after each request, piece by piece, and whether it then closes the connection. */
interface Sent {
  pieces: (string | Uint8Array)[];
  close?: true;
}

const messageOf = (email: string): Buffer =>
  Buffer.from(toBinary(GetMeResponseSchema, create(GetMeResponseSchema, { email })));
const body = messageOf("ada@acme.test");
const head = (...fields: string[]): string =>
  `${["HTTP/1.1 200 OK", "Content-Type: application/proto", ...fields].join("\r\n")}\r\n\r\n`;
const whole = (email: string): Buffer => {
  const bytes = messageOf(email);
  return Buffer.concat([Buffer.from(head(`Content-Length: ${bytes.length}`)), bytes]);
};
const bytewise = (bytes: Buffer): Uint8Array[] => Array.from(bytes, (byte) => Uint8Array.of(byte));
const chunk = (bytes: Buffer, extension = ""): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}${extension}\r\n`), bytes, Buffer.from("\r\n")]);

const ANSWERS: Readonly<Record<string, Sent>> = {
  "byte by byte": { pieces: bytewise(whole("ada@acme.test")) },
  "in chunks with extensions and trailers": {
    pieces: [
      head("Transfer-Encoding: chunked"),
      ...bytewise(Buffer.concat([chunk(body.subarray(0, 3), ";x=1"), chunk(body.subarray(3))])),
      "0\r\nTrailer: one\r\n",
      "\r\n",
    ],
  },
  compressed: {
    pieces: [head("Content-Encoding: gzip", `Content-Length: ${gzipSync(body).length}`), gzipSync(body)],
  },
  "after interim answers": {
    pieces: ["HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n", whole("ada@acme.test")],
  },
  "until the connection ends": { pieces: [head("Connection: close"), body], close: true },
};

const BROKEN: Readonly<Record<string, Sent>> = {
  "of another protocol": { pieces: ["SSH-2.0-OpenSSH_9.9\r\n\r\n"] },
  "with a negative length": { pieces: [head("Content-Length: -1"), body] },
  "with a chunk of no length": { pieces: [head("Transfer-Encoding: chunked"), "0x5\r\nhello\r\n0\r\n\r\n"] },
  "with a chunk of a length that is no number": { pieces: [head("Transfer-Encoding: chunked"), "zz\r\nhello\r\n"] },
  "with a length of a thousand digits": { pieces: [head(`Content-Length: ${"9".repeat(1_000)}`), body], close: true },
  "with a chunk that is longer than it says": {
    pieces: [head("Transfer-Encoding: chunked"), "2\r\nhello\r\n0\r\n\r\n"],
  },
  "with an error of another form": {
    pieces: [
      "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\r\n",
      '{"code":"internal","details":["no"]}',
    ],
  },
  "that ends too soon": { pieces: [head(`Content-Length: ${body.length + 1}`), body], close: true },
  "with headers without end": { pieces: [`HTTP/1.1 200 OK\r\nX: ${"x".repeat(2_000_000)}`], close: true },
};

/** A server whose every answer is as `next` has it. */
async function startRawServer() {
  const requests: string[] = [];
  const server = { next: { pieces: [] } as Sent, url: "", connections: 0, requests, close: () => listener.close() };
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    server.connections++;
    sockets.add(socket.setNoDelay(true));
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    let received = "";
    socket.on("data", (data) => {
      received += data.toString("latin1");
      // The requests of these tests have an empty message.
      if (!received.includes("\r\n\r\n")) return;
      server.requests.push(received);
      received = "";
      void send(socket, server.next);
    });
  });
  async function send(socket: Socket, { pieces, close }: Sent): Promise<void> {
    for (const piece of pieces) {
      await new Promise((resolve) => socket.write(piece, resolve));
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (close === true) socket.end();
  }
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  server.url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  server.close = () => {
    for (const socket of sockets) socket.destroy();
    return listener.close();
  };
  return server;
}

for (const language of languages())
  describe.skipIf(language.missing !== undefined)(`the client in ${language.name}`, () => {
    let driver: Driver;
    let server: Awaited<ReturnType<typeof startRawServer>>;
    beforeAll(async () => {
      driver = await language.start();
      server = await startRawServer();
    });
    afterAll(async () => {
      await driver.stop();
      server.close();
    });
    const own = () => ({ url: server.url, token: "token", retries: 0, timeout: 20 });

    it.each(Object.keys(ANSWERS))("reads an answer that comes %s, and the next one", async (form) => {
      for (const next of [ANSWERS[form] as Sent, { pieces: [whole("eve@acme.test")] }]) {
        server.next = next;
        const email = next === ANSWERS[form] ? "ada@acme.test" : "eve@acme.test";
        expect(await driver.run("me", own())).toMatchObject({ email });
      }
    });

    it.each(Object.keys(BROKEN))("fails on an answer %s, and reads the next one", async (form) => {
      server.next = BROKEN[form] as Sent;
      expect(await driver.fail("me", own())).toMatchObject({ kind: "call", status: 0 });
      server.next = { pieces: [whole("eve@acme.test")] };
      expect(await driver.run("me", own())).toMatchObject({ email: "eve@acme.test" });
    });

    it("never takes what follows an answer for the next one", async () => {
      for (const split of [true, false]) {
        const answers = [whole("ada@acme.test"), whole("mallory@acme.test")];
        server.next = { pieces: split ? answers : [Buffer.concat(answers)] };
        expect(await driver.run("me", own())).toMatchObject({ email: "ada@acme.test" });
        server.next = { pieces: [whole("eve@acme.test")] };
        expect(await driver.run("me", own())).toMatchObject({ email: "eve@acme.test" });
      }
    });

    it.each(["with its length", "in chunks", "compressed"])("reads a large answer %s", async (form) => {
      const email = `${"é漢\u{1F600}".repeat(300_000)}@acme.test`;
      const bytes = messageOf(email);
      const parts = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, nth) =>
        bytes.subarray(nth * 65_536, (nth + 1) * 65_536),
      );
      const packed = gzipSync(bytes);
      const pieces: Readonly<Record<string, Sent["pieces"]>> = {
        "with its length": [head(`Content-Length: ${bytes.length}`), ...parts],
        "in chunks": [head("Transfer-Encoding: chunked"), ...parts.map((part) => chunk(part)), "0\r\n\r\n"],
        compressed: [head("Content-Encoding: gzip", `Content-Length: ${packed.length}`), packed],
      };
      server.next = { pieces: pieces[form] ?? [] };
      expect((await driver.run("me", own())).email === email).toBe(true);
    });

    it("calls again where the server has ended the connection after its answer", async () => {
      for (let nth = 0; nth < 5; nth++) {
        server.next = { pieces: [whole("ada@acme.test")], close: true };
        expect(await driver.run("me", own())).toMatchObject({ email: "ada@acme.test" });
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });

    it.each([
      ["never begins", []],
      ["stops in its headers", ["HTTP/1.1 200 OK\r\nContent-"]],
      ["stops in its body", [whole("ada@acme.test").subarray(0, -1)]],
    ])("ends a call at its deadline when the answer %s", async (_form, pieces) => {
      server.next = { pieces };
      // A context that lasts longer than a call may take changes nothing.
      const call = { ...own(), timeout: 0.3, context: 3_600 };
      expect(await driver.fail("me", call)).toMatchObject({ error_code: "deadline_exceeded" });
      server.next = { pieces: [whole("eve@acme.test")] };
      expect(await driver.run("me", own())).toMatchObject({ email: "eve@acme.test" });
    });

    it("waits as long as Retry-After says, and not at all when that is too long", async () => {
      const busy = (wait: string): Sent => ({
        pieces: [`HTTP/1.1 503 Busy\r\nRetry-After: ${wait}\r\nContent-Length: 0\r\n\r\n`],
      });
      const client = { ...own(), retries: 2 };
      server.next = busy("1");
      const start = performance.now();
      const call = driver.run("me", client);
      await expect.poll(() => server.requests.splice(0).length).toBe(1);
      server.next = { pieces: [whole("ada@acme.test")] };
      expect(await call).toMatchObject({ email: "ada@acme.test" });
      expect(performance.now() - start).toBeGreaterThanOrEqual(1_000);
      server.next = busy("31");
      server.requests.length = 0;
      expect(await driver.fail("me", client)).toMatchObject({ error_code: "unavailable", retry_after: 31 });
      expect(server.requests).toHaveLength(1);
    });

    // Calls of the synchronous interface cannot be cancelled.
    it.skipIf(language.name === "Python")("ends at once when it is cancelled before it calls again", async () => {
      const wait = 30_000;
      server.next = { pieces: [`HTTP/1.1 503 Busy\r\nRetry-After: ${wait / 1_000}\r\nContent-Length: 0\r\n\r\n`] };
      const start = performance.now();
      // More time than the wait, which would not begin otherwise.
      expect(await driver.run("hurry", { ...own(), retries: 2, timeout: 60 })).toEqual({ cancelled: true });
      expect(performance.now() - start).toBeLessThan(wait);
    });

    it("uses a connection again", async () => {
      server.next = { pieces: [whole("ada@acme.test")] };
      await driver.run("me", own());
      const before = server.connections;
      for (let nth = 0; nth < 5; nth++) await driver.run("me", own());
      expect(server.connections).toBe(before);
    });

    it.runIf(language.name.includes("asyncio"))("ends the connection of a call that is cancelled", async () => {
      server.next = { pieces: [whole("ada@acme.test").subarray(0, 20)] };
      const client = { ...own(), timeout: 60 };
      expect(await driver.run("hurry", client)).toEqual({ cancelled: true });
      server.next = { pieces: [whole("eve@acme.test")] };
      expect(await driver.run("me", client)).toMatchObject({ email: "eve@acme.test" });
    });

    const streamHead =
      "HTTP/1.1 200 OK\r\nContent-Type: application/connect+proto\r\nTransfer-Encoding: chunked\r\n\r\n";
    it.runIf(language.name.includes("asyncio")).each([
      ["over a connection of the caller's", { own_connection: true }, []],
      ["of a stream that does not begin", { stream: true }, []],
      ["of a stream after its first message", { stream: true }, [streamHead, chunk(Buffer.alloc(5))]],
    ])("cancels a call %s as asyncio does", async (_name, kind, pieces) => {
      server.next = { pieces };
      expect(await driver.run("hurry", { ...own(), ...kind })).toEqual({ cancelled: true });
    });
  });
