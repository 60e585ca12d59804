import { createServer, connect } from "node:net";
import type { Server, Socket } from "node:net";
import { joinSockets } from "./join-sockets.ts";

/** A TCP proxy to a server that a test can cut or silence. */
export interface FlakyLink {
  port: number;
  /** How many connections it has accepted. */
  accepted(): number;
  /** Bytes that are held back while it is silent. */
  held(): number;
  /** Connections are closed and new ones refused. */
  cut(): Promise<void>;
  /** Connections stay open, new ones are accepted, and no bytes are forwarded. */
  deafen(): void;
  /** Forwards again; bytes held back are delivered. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a proxy on a free port of 127.0.0.1 to `target`. */
export async function flakyLink(target: { host: string; port: number }): Promise<FlakyLink> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  let deaf = false;
  let server: Server | undefined;

  function take(near: Socket): void {
    accepted++;
    const far = connect(target.port, target.host);
    joinSockets(near, far, sockets);
    near.on("data", (bytes) => far.write(bytes));
    far.on("data", (bytes) => near.write(bytes));
    if (deaf) for (const socket of [near, far]) socket.pause();
  }

  async function listen(port: number): Promise<number> {
    const opened = createServer(take);
    await new Promise<void>((resolve, reject) => opened.once("error", reject).listen(port, "127.0.0.1", resolve));
    server = opened;
    return (opened.address() as { port: number }).port;
  }

  async function cut(): Promise<void> {
    const closing = server;
    server = undefined;
    const closed = new Promise((resolve) => (closing === undefined ? resolve(undefined) : closing.close(resolve)));
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  const port = await listen(0);
  return {
    port,
    accepted: () => accepted,
    held: () => [...sockets].reduce((bytes, { readableLength }) => bytes + readableLength, 0),
    cut,
    deafen() {
      deaf = true;
      for (const socket of sockets) socket.pause();
    },
    async restore() {
      deaf = false;
      for (const socket of sockets) socket.resume();
      if (server === undefined) await listen(port);
    },
    close: cut,
  };
}
