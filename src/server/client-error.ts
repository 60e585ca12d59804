import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import { errors, ServiceError } from "../platform/errors.ts";
import type { ErrorRow } from "../platform/errors.ts";
import { pendingResponse } from "./patches/node-pending-response.ts";
import { printError } from "./print.ts";

const tooLarge: ErrorRow = [431, "header_too_large", "The header block is larger than 16 KiB."];
const tooSlow: ErrorRow = [408, "request_timeout", "The request did not arrive in time."];
const unreadable: ErrorRow = [400, "bad_request", "The request is not valid HTTP/1.1."];

const reasons: Readonly<Record<number, string>> = {
  400: "Bad Request",
  405: "Method Not Allowed",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

/** Responds to bytes that are not an HTTP/1.1 request, and closes the connection. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === "ECONNRESET" || pendingResponse(socket)?.headersSent === true) {
    socket.destroy();
    return;
  }
  const row =
    error.code === "HPE_HEADER_OVERFLOW" ? tooLarge : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? tooSlow : unreadable;
  refuseSocket(new ServiceError(row), socket);
}

/** The error of CONNECT: the service is no proxy. Such a request has no path. */
export function noTunnel(): ServiceError {
  return errors.methodNotAllowed({ headers: { allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS" } });
}

/** Refuses CONNECT over HTTP/1.1, for which node makes no response object. */
export function refuseTunnel(socket: Duplex): void {
  if (pendingResponse(socket) === undefined) refuseSocket(noTunnel(), socket);
  else socket.destroy(); // the client has not waited for the response to the request before it
}

/** Writes the response to a socket, and closes it. */
function refuseSocket(error: ServiceError, socket: Duplex): void {
  const { status, headers, body } = printError(error, {
    requestId: randomUUID(),
    url: "",
    accept: undefined,
    scim: false,
  });
  const lines = Object.entries({
    ...headers,
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${reasons[status] ?? "Error"}\r\n${lines.join("")}\r\n${body.toString()}`);
  // The server does not read the rest of what the client sends.
  setTimeout(() => socket.destroy(), 1_000).unref();
}
