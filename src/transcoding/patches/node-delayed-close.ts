/**
 * Delays the close of an HTTP/1.1 connection after its last response. Node calls `destroySoon` of the socket, which
 * closes it with unread bytes, and the system then resets the connection before the client has read the response (RFC
 * 9112 §9.6).
 *
 * @patches node 24.21.0
 * @upstream none: node closes with `destroySoon`, an undocumented method of the socket, and has no option for a delay
 */
import type { Socket } from "node:net";

/** Makes node call `close` instead. Returns a function that restores the method. */
export function replaceClose(socket: Socket, close: () => void): () => void {
  socket.destroySoon = close;
  return () => void Reflect.deleteProperty(socket, "destroySoon");
}
