import type { ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { errors, ServiceError } from "../platform/errors.ts";
import { continueTrace, tracing } from "../platform/tracing.ts";
import type { NodeRequest, NodeResponse, Transcoder } from "../transcoding/index.ts";
import { universalRequest, writeResponse } from "./adapter.ts";
import { Call } from "./call.ts";
import type { AddressOf, Protocol } from "./call.ts";
import type { Cors } from "./cors.ts";
import type { Policy } from "./policy.ts";
import { printError } from "./print.ts";
import type { Fail } from "./reporter.ts";

/** Answers a request of its own, such as the development mailbox; false leaves it to the others. */
export type PlainHandler = (request: NodeRequest, response: NodeResponse) => boolean;

/** The ways a request can go. */
export interface RouteTable {
  /** By procedure path. */
  procedures: ReadonlyMap<string, UniversalHandler>;
  policyOf: (handler: UniversalHandler) => Policy | undefined;
  rest: Transcoder;
  extra: PlainHandler | undefined;
  cors: Cors;
  addressOf: AddressOf;
  fail: Fail;
  /** Bytes of a header block, and milliseconds for a body of HTTP/2; HTTP/1.1 has these from node. */
  headerBytes: number;
  bodyMs: number;
  /** Told of every answer that is not the transcoder's. */
  done: (call: Call, status: number) => void;
}

/** The call that is being handed over: the transcoder asks for it at once, so one place is enough. */
export interface Handover {
  call: Call | undefined;
}

/** Sends every request where its path belongs (decisions 15). */
export function createRoutes(table: RouteTable, handover: Handover): (request: NodeRequest, response: NodeResponse) => void {
  return (request, response) => {
    const call = new Call(request, table.addressOf);
    if (!tracing()) return dispatch(call, request, response);
    continueTrace(request.method ?? "", "server", call.header("traceparent"), (span) => {
      call.span = span;
      dispatch(call, request, response);
    });
  };

  function dispatch(call: Call, request: NodeRequest, response: NodeResponse): void {
    const broken = brokenHead(request, table.headerBytes);
    if (broken !== undefined) return refuse(broken, call, response, table);
    if ("stream" in request) limitBody(request, table.bodyMs);
    const url = pathOf(request);
    if (url.startsWith("/atrium.") || url.startsWith("/grpc.")) return procedure(url, call, request, response, table);
    if (request.headers.origin !== undefined && answersCors(url, request, response, table)) return;
    handover.call = call;
    const taken = table.rest.handle(request, response);
    handover.call = undefined;
    if (taken) return;
    response.setHeader("x-request-id", call.info.requestId);
    if (table.extra?.(request, response) !== true) refuse(errors.noRoute(), call, response, table);
  };
}

/** True for a preflight request, which is answered; otherwise the answer that follows gets its CORS headers. */
function answersCors(url: string, request: NodeRequest, response: NodeResponse, table: RouteTable): boolean {
  if (request.method === "OPTIONS") {
    const preflight = table.cors.preflight(request, table.rest.allowed(url)?.join(", ") ?? "GET, POST, PUT, PATCH, DELETE");
    if (preflight !== undefined) {
      (response as ServerResponse).writeHead(204, preflight).end();
      return true;
    }
  }
  for (const [name, value] of Object.entries(table.cors.headers(request) ?? {})) response.setHeader(name, value);
  return false;
}

function procedure(path: string, call: Call, request: NodeRequest, response: NodeResponse, table: RouteTable): void {
  const handler = table.procedures.get(path);
  const type = call.header("content-type") ?? "";
  call.protocol = protocolOf(type);
  const extra: Record<string, string> = { "x-request-id": call.info.requestId };
  const allowed = handler === undefined ? "" : methodsOf(handler);
  if (request.headers.origin !== undefined) {
    const preflight = handler === undefined ? undefined : table.cors.preflight(request, allowed);
    if (preflight !== undefined) return void (response as ServerResponse).writeHead(204, preflight).end();
    Object.assign(extra, table.cors.headers(request));
  }
  if (handler === undefined) {
    if (!type.startsWith("application/grpc")) {
      for (const [name, value] of Object.entries(extra)) response.setHeader(name, value);
      return refuse(errors.noRoute(), call, response, table);
    }
    const headers = { ...extra, "content-type": type, "grpc-status": "12", "grpc-message": "no such procedure" };
    return void (response as ServerResponse).writeHead(200, headers).end();
  }
  if (request.method === "OPTIONS") return void (response as ServerResponse).writeHead(204, { ...extra, allow: allowed }).end();
  call.policy = table.policyOf(handler);
  const { methodKind } = handler.method;
  handler(universalRequest(request, response, call))
    .then((answer) => {
      // 405 and 415 of connect come without an error.
      if (answer.status >= 400 && call.errorCode === "") Object.assign(call, { errorCode: "protocol", status: answer.status });
      if (answer.status === 405) extra["allow"] = allowed;
      return writeResponse(answer, response, methodKind === "unary", extra);
    })
    .catch((reason: unknown) => {
      // Too late for an answer in the client's protocol: the connection says it.
      table.fail(reason, call);
      if (!response.headersSent) (response as ServerResponse).writeHead(500).end();
      else response.destroy();
    })
    .finally(() => table.done(call, call.status));
}

/** The methods of a procedure; HEAD goes wherever GET does. */
function methodsOf({ allowedMethods }: UniversalHandler): string {
  return [...allowedMethods, ...(allowedMethods.includes("GET") ? ["HEAD"] : []), "OPTIONS"].join(", ");
}

function protocolOf(type: string): Protocol {
  if (!type.startsWith("application/grpc")) return "connect";
  return type.startsWith("application/grpc-web") ? "grpc-web" : "grpc";
}

/** Answers without any handler, in the form of REST. */
function refuse(error: ServiceError, call: Call, response: NodeResponse, table: RouteTable): void {
  call.protocol = "plain";
  table.fail(error, call);
  const { url = "", headers } = call.request;
  const printed = printError(error, { requestId: call.info.requestId, url, accept: headers.accept, scim: url.startsWith("/scim/v2/") });
  const length = { "content-length": String(Buffer.byteLength(printed.body)) };
  (response as ServerResponse).writeHead(printed.status, { ...printed.headers, ...length });
  if (call.request.method === "HEAD") response.end();
  else (response as ServerResponse).end(printed.body);
  table.done(call, printed.status);
}

/** The path, without query; the absolute form of RFC 9112 3.2.2 is reduced to it. */
function pathOf(request: NodeRequest): string {
  let url = request.url ?? "";
  if (!url.startsWith("/") && /^https?:\/\//i.test(url)) {
    // The authority ends at the first of these; without a path there may still be a query, with slashes of its own.
    const rest = url.slice(url.indexOf("//") + 2).replace(/^[^/?#]*/, "");
    request.url = url = rest.startsWith("/") ? rest : `/${rest}`;
  }
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}

/** Heads that node lets through and we do not: no Host field or two, and for HTTP/2 a block over the limit. */
function brokenHead(request: NodeRequest, headerBytes: number): ServiceError | undefined {
  const raw = request.rawHeaders;
  const h2 = "stream" in request;
  let hosts = 0;
  let bytes = 0;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
    if (h2) bytes += name.length + (raw[at + 1] as string).length;
  }
  if (hosts === 0 && request.httpVersion === "1.1") return errors.badRequest({ message: "There is no Host header.", headers: { connection: "close" } });
  if (hosts > 1) return errors.badRequest({ message: "There are several Host headers.", headers: h2 ? {} : { connection: "close" } });
  if (bytes > headerBytes) return new ServiceError([431, "header_too_large", "The header block is larger than 16 KiB."]);
  return undefined;
}

/** How long a client goes on sending to nobody after its answer, milliseconds. */
const ANSWERED_MS = 500;

/** A body over HTTP/2 has to arrive in time, unless both sides talk at once. */
function limitBody(request: Http2ServerRequest, bodyMs: number): void {
  const { stream } = request;
  if (stream.endAfterHeaders) return;
  if (request.url.startsWith("/grpc.reflection.")) return;
  let timer = setTimeout(() => stream.close(8 /* CANCEL */), bodyMs);
  const stop = (): void => clearTimeout(timer);
  stream.once("end", stop);
  stream.once("close", stop);
  // An answer that did not wait for the whole body (413, 401) lets go of the rest, as RFC 9113 8.1 says; trailers go first.
  stream.once("finish", () => {
    if (stream.readableEnded) return;
    clearTimeout(timer);
    timer = setTimeout(() => stream.close(0 /* NO_ERROR */), ANSWERED_MS);
  });
}
