import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { joinSockets } from "./join-sockets.ts";

/** A TCP proxy to PostgreSQL that loses an answer: the statement takes effect, and its connection ends. */
export interface LosingLink {
  port: number;
  /**
   * Loses the answer to the next statement whose name or text contains `part`, or to the COMMIT of its transaction;
   * resolves when it has.
   */
  lose(part: string): Promise<void>;
  close(): Promise<void>;
}

/** ReadyForQuery outside a transaction: what came before it is committed. */
const READY = Buffer.from("Z\0\0\0\x05I");

/** Opens a proxy on a free port of 127.0.0.1 to `target`. */
export async function losingLink(target: { host: string; port: number }): Promise<LosingLink> {
  const sockets = new Set<Socket>();
  let waiting: { part: string; lost: () => void } | undefined;

  const server = createServer((near) => {
    const far = connect(target.port, target.host);
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
  return {
    port: (server.address() as AddressInfo).port,
    lose: (part) => new Promise((lost) => (waiting = { part, lost })),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
