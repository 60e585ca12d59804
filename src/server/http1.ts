import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { answerClientError, refuseTunnel } from "./client-error.ts";
import { continueWhenRead } from "./patches/node-continue-when-read.ts";
import { startTimeoutChecks } from "./patches/node-timeout-checks.ts";
import type { TransportLimits } from "./transport-limits.ts";

/** Creates the server of HTTP/1.1 connections. It never listens itself: the listener hands sockets to it. */
export function createHttp1Server(
  limits: TransportLimits,
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.headersMs + limits.bodyMs,
      keepAliveTimeout: limits.idleMs,
      connectionsCheckingInterval: Math.min(1_000, limits.headersMs / 2),
      requireHostHeader: false, // the routes refuse it, with an error body
    },
    handler,
  );
  server.keepAliveTimeoutBuffer = 0;
  server.on("clientError", answerClientError);
  server.on("checkContinue", (request, response) => handler(continueWhenRead(request, response), response));
  // Other expectations are ignored, as RFC 9110 §10.1.1 allows.
  server.on("checkExpectation", handler);
  // Nothing listens to "upgrade": a client that offers another protocol (Java's offers h2c) gets HTTP/1.1.
  server.on("connect", (_request, socket) => refuseTunnel(socket));
  startTimeoutChecks(server);
  return server;
}

/** Limits the time for bodies, which are refused as node refuses slow headers. */
export function createBodyTimer(bodyMs: number): (request: IncomingMessage, response: ServerResponse) => void {
  let arriving: (readonly [IncomingMessage, ServerResponse])[] = [];

  /** Nearly all bodies arrive with their heads: a timer for each costs more than reading it. */
  function limitLate(): void {
    const begun = arriving;
    arriving = [];
    for (const [request, response] of begun) if (!request.complete) limit(request, response, bodyMs);
  }

  return (request, response) => {
    const { headers } = request;
    if (headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0") return;
    if (arriving.push([request, response]) === 1) setImmediate(limitLate);
  };
}

function limit(request: IncomingMessage, response: ServerResponse, bodyMs: number): void {
  const { socket } = request;
  if (request.destroyed) return;
  const timer = setTimeout(() => {
    if (response.writableEnded) socket.destroy();
    else if (!request.complete)
      answerClientError(Object.assign(new Error("the body is late"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), socket);
  }, bodyMs);
  const stop = (): void => clearTimeout(timer);
  request.once("end", stop);
  request.once("close", stop);
}
