/**
 * Starts node's checks of `headersTimeout` and `requestTimeout` on a server that never listens. Node starts them with its
 * own `listening` event, while a server can be given connections without listening.
 *
 * @patches node 24.21.0
 * @upstream https://github.com/nodejs/node/pull/48611
 */
import type { Server } from "node:http";

/** Starts the checks for slow clients. Without it, neither time-out applies. */
export function startTimeoutChecks(server: Server): void {
  server.emit("listening");
}
