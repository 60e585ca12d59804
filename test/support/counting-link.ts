import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { joinSockets } from "./join-sockets.ts";

/** A TCP proxy that counts the connections it has accepted. */
export interface CountingLink {
  port: number;
  accepted(): number;
  close(): Promise<void>;
}

/** Opens a proxy on a free port of 127.0.0.1 to a port of it. */
export async function countingLink(port: number): Promise<CountingLink> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((near) => {
    accepted++;
    const far = connect(port, "127.0.0.1");
    joinSockets(near, far, sockets);
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    accepted: () => accepted,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
