import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { joinSockets } from "./join-sockets.ts";

/** A TCP proxy to PostgreSQL that loses an answer: the statement takes effect, and its connection ends. */
export interface LosingLink {
  /** The database by way of the proxy. */
  url: string;
  /**
   * Loses the answer to the next statement whose name or text contains `part`, or to the COMMIT of its transaction;
   * resolves when it has.
   */
  lose(part: string): Promise<void>;
  close(): Promise<void>;
}

/** ReadyForQuery outside a transaction: what came before it is committed. */
const READY = Buffer.from("Z\0\0\0\x05I");

/** Opens a proxy on a free port of 127.0.0.1 to the database of a URL. */
export async function losingLink(databaseUrl: string): Promise<LosingLink> {
  const url = new URL(databaseUrl);
  const target = { host: url.hostname, port: Number(url.port) };
  const sockets = new Set<Socket>();
  let waiting: { part: string; lost: () => void } | undefined;

  const server = createServer((near) => {
    const far = connect(target);
    let lost: (() => void) | undefined;
    joinSockets(near, far, sockets);
    near.on("data", (bytes) => {
      if (waiting !== undefined && bytes.includes(waiting.part)) {
        ({ lost } = waiting);
        waiting = undefined;
      }
      far.write(bytes);
    });
    far.on("data", (bytes) => {
      if (lost === undefined || !bytes.includes(READY)) return void near.write(bytes);
      near.resetAndDestroy();
      lost();
    });
  });

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  Object.assign(url, { hostname: "127.0.0.1", port: String((server.address() as AddressInfo).port) });
  return {
    url: url.href,
    lose: (part) => new Promise((lost) => (waiting = { part, lost })),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
