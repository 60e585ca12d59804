import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { joinSockets } from "./join-sockets.ts";

/**
 * A link to PostgreSQL that leaves `options` out of start-up packets, as poolers may, and breaks where a test wants it.
 */
export interface OptionDropper {
  port: number;
  /** Whether it drops options of new connections; true at first. */
  dropping: boolean;
  /** Closes a connection that sends this text, as a server does that goes away. */
  breakAt: string | undefined;
  close(): Promise<void>;
}

const PROTOCOL_3 = 196_608;

/** The start-up packet (length, protocol, then names and values that end in NUL) without one parameter. */
function without(packet: Buffer, name: string): Buffer {
  const texts = packet.toString("latin1", 8).split("\0");
  const kept: string[] = [];
  for (let at = 0; texts[at] !== undefined && texts[at] !== ""; at += 2) {
    if (texts[at] !== name) kept.push(texts[at] ?? "", texts[at + 1] ?? "");
  }
  const rest = Buffer.from(`${kept.map((text) => `${text}\0`).join("")}\0`, "latin1");
  const head = Buffer.alloc(8);
  head.writeUInt32BE(rest.length + 8, 0);
  head.writeUInt32BE(PROTOCOL_3, 4);
  return Buffer.concat([head, rest]);
}

/** Opens such a proxy on a free port of 127.0.0.1. */
export async function optionDropper(target: { host: string; port: number }): Promise<OptionDropper> {
  const sockets = new Set<Socket>();
  const link: OptionDropper = { port: 0, dropping: true, breakAt: undefined, close };

  const server = createServer((near) => {
    const far = connect(target.port, target.host);
    joinSockets(near, far, sockets);
    far.on("data", (bytes) => near.write(bytes));
    let start: Buffer | undefined = Buffer.alloc(0);
    near.on("data", (bytes) => {
      if (link.breakAt !== undefined && bytes.includes(link.breakAt)) return void near.destroy();
      if (start === undefined) return void far.write(bytes);
      start = Buffer.concat([start, bytes]);
      if (start.length < 8 || start.length < start.readUInt32BE(0)) return;
      const length = start.readUInt32BE(0);
      const packet = start.subarray(0, length);
      const isStartUp = packet.readUInt32BE(4) === PROTOCOL_3;
      far.write(isStartUp && link.dropping ? without(packet, "options") : packet);
      far.write(start.subarray(length));
      start = isStartUp ? undefined : Buffer.alloc(0);
    });
  });

  async function close(): Promise<void> {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  link.port = (server.address() as AddressInfo).port;
  return link;
}
