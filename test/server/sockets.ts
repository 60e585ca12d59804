import type { ClientHttp2Session } from "node:http2";
import { connect } from "node:net";
import type { Socket } from "node:net";

/** Time limits of a server for requests that have to exceed them. */
export const SHORT_LIMITS = { headersMs: 300, bodyMs: 300, idleMs: 1_500 };

/** Opens a connection. Its errors are ignored: `close` follows each. */
export function open(port: number, localAddress = "127.0.0.1"): Socket {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  socket.on("error", () => undefined);
  return socket;
}

/** Everything the server sends until it closes the connection. */
export function untilClosed(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    socket.on("close", () => resolve(text));
  });
}

/** The status of a request on an HTTP/2 connection, or how its stream ended without one. */
export function h2Status(session: ClientHttp2Session, headers: Record<string, string>): Promise<number | string> {
  return new Promise((resolve) => {
    const stream = session.request({ ":path": "/api/hello", ...headers });
    stream.on("response", (answer) => resolve(answer[":status"] ?? 0));
    stream.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
    stream.on("close", () => resolve(`reset ${stream.rstCode}`));
    stream.end();
    stream.resume();
  });
}
