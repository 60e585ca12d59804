/**
 * Finds the response that node is writing to a socket. A `clientError` listener gets only the socket, and a second
 * response on it would corrupt the first; node's own listener reads the same private property.
 *
 * @patches node 24.21.0
 * @upstream https://github.com/nodejs/node/pull/33308 (documents the case, but there is no public API for it)
 */
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** Returns the response that was begun on a socket, if any. */
export function pendingResponse(socket: Duplex): ServerResponse | undefined {
  return (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}
