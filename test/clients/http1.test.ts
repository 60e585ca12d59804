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
  "with a chunk that is longer than it says": {
    pieces: [head("Transfer-Encoding: chunked"), "2\r\nhello\r\n0\r\n\r\n"],
  },
  "that ends too soon": { pieces: [head(`Content-Length: ${body.length + 1}`), body], close: true },
  "with headers without end": { pieces: [`HTTP/1.1 200 OK\r\nX: ${"x".repeat(2_000_000)}`], close: true },
};

/** A server whose every answer is as `next` has it. */
async function startRawServer() {
  const server = { next: { pieces: [] } as Sent, url: "", connections: 0, close: () => listener.close() };
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
      driver = language.start();
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
  });
