import type { AddressInfo, Server } from "node:net";

/** What a baseline says when it serves. */
export interface Serving {
  port: number;
}

/** Listens on a free loopback port, tells the bench, and ends with it. */
export function serve(server: Server, more: object = {}): void {
  process.on("disconnect", () => process.exit(0));
  server.listen(0, "127.0.0.1", () => {
    process.send?.({ ready: { port: (server.address() as AddressInfo).port, ...more } });
  });
}
