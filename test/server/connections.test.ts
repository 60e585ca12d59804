import { connect } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, test } from "vitest";
import { issue } from "../support/certificates.ts";
import { start } from "./support.ts";
import type { Running } from "./support.ts";

/**
 * Connects from an address of the loopback network; resolves to the socket and its response, or to undefined when
 * refused.
 */
async function asked({ port }: Running, localAddress: string): Promise<Socket | undefined> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  const answered = await new Promise<boolean>((resolve) => {
    socket
      .once("data", () => resolve(true))
      .once("close", () => resolve(false))
      .on("error", () => undefined);
    socket.write("GET /api/hello HTTP/1.1\r\nhost: a\r\n\r\n");
  });
  return answered ? socket : undefined;
}

describe("Connections of one address", () => {
  test("connections over 1,000 of one address are refused, and a closed one frees a place", async () => {
    const server = await start();
    const others = await asked(server, "127.0.0.3");
    const open = await Promise.all(Array.from({ length: 1_000 }, () => asked(server, "127.0.0.2")));
    expect(open.filter((socket) => socket === undefined)).toEqual([]);
    const more = await Promise.all(Array.from({ length: 50 }, () => asked(server, "127.0.0.2")));
    expect(more.filter((socket) => socket !== undefined)).toEqual([]);
    const again = (socket: Socket | undefined) =>
      new Promise<string>((resolve) => {
        socket?.once("data", (chunk: Buffer) => resolve(chunk.toString("latin1").split("\r\n")[0] ?? ""));
        socket?.write("GET /api/hello HTTP/1.1\r\nhost: a\r\n\r\n");
      });
    expect(await again(others)).toBe("HTTP/1.1 200 OK");
    expect(await again(open[500])).toBe("HTTP/1.1 200 OK");
    expect(await asked(server, "127.0.0.4")).toBeDefined();
    open[7]?.destroy();
    await expect.poll(async () => (await asked(server, "127.0.0.2")) !== undefined).toBe(true);
    for (const socket of open) socket?.destroy();
    await server.close();
  });

  test("connections of a trusted proxy are not counted", async () => {
    const server = await start({ limits: { connections: 2 }, isTrusted: (address) => address === "127.0.0.2" });
    const open = await Promise.all(Array.from({ length: 10 }, () => asked(server, "127.0.0.2")));
    expect(open.filter((socket) => socket === undefined)).toEqual([]);
    expect([await asked(server, "127.0.0.3"), await asked(server, "127.0.0.3")]).not.toContain(undefined);
    expect(await asked(server, "127.0.0.3")).toBeUndefined();
    await server.close();
  });

  test("connections are counted before a TLS handshake", async () => {
    const { key, cert } = await issue(Date.now(), undefined, { commonName: "localhost" });
    const server = await start({ tls: { key, cert }, limits: { connections: 2 } });
    const secure = () =>
      new Promise<boolean>((resolve) => {
        const socket = connectTls({ port: server.port, host: "127.0.0.1", rejectUnauthorized: false }, () =>
          resolve(true),
        );
        socket.on("error", () => resolve(false)).on("close", () => resolve(false));
      });
    expect([await secure(), await secure(), await secure(), await secure()]).toEqual([true, true, false, false]);
    await server.close();
  });
});
