import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { ServiceError } from "../platform/errors.ts";
import type { ErrorRow } from "../platform/errors.ts";
import { printError } from "./print.ts";

const tooLarge: ErrorRow = [431, "header_too_large", "The header block is larger than 16 KiB."];
const tooSlow: ErrorRow = [408, "request_timeout", "The request did not arrive in time."];
const unreadable: ErrorRow = [400, "bad_request", "The request is not valid HTTP/1.1."];

const reasons: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

/** Answers bytes that are no request of HTTP/1.1, and closes the connection. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  const { _httpMessage: response } = socket as Duplex & { _httpMessage?: ServerResponse };
  if (!socket.writable || error.code === "ECONNRESET" || response?.headersSent === true) {
    socket.destroy();
    return;
  }
  const row =
    error.code === "HPE_HEADER_OVERFLOW" ? tooLarge : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? tooSlow : unreadable;
  const { status, headers, body } = printError(new ServiceError(row), {
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
  // The rest of what the client sends is not read.
  setTimeout(() => socket.destroy(), 1_000).unref();
}
