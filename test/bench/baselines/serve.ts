import type { AddressInfo, Server } from "node:net";

/** What a baseline sends when it is ready. */
export interface Serving {
  port: number;
}

/** Listens on a free loopback port, reports it to the bench, and ends with the bench. */
export function serve(server: Server, more: object = {}): void {
  process.on("disconnect", () => process.exit(0));
  server.listen(0, "127.0.0.1", () => {
    process.send?.({ ready: { port: (server.address() as AddressInfo).port, ...more } });
  });
}
