import type { ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { errors, ServiceError } from "../platform/errors.ts";
import { continueTrace, tracing } from "../platform/tracing.ts";
import { bodyArrived, releaseBody } from "../transcoding/index.ts";
import type { NodeRequest, NodeResponse, Transcoder } from "../transcoding/index.ts";
import { universalRequest, writeResponse } from "./adapter.ts";
import { Call } from "./call.ts";
import type { AddressOf, Protocol } from "./call.ts";
import type { Cors } from "./cors.ts";
import type { Policy } from "./policy.ts";
import { NOSNIFF, printError } from "./print.ts";
import type { Fail } from "./reporter.ts";
import { answerUnknown, callsProcedure, unknownProcedure } from "./procedure-refusals.ts";
import type { RefuseUnread } from "./procedure-refusals.ts";

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
  refuseUnread: RefuseUnread;
  /** Bytes of a header block, and milliseconds for a body of HTTP/2; HTTP/1.1 has these from node. */
  headerBytes: number;
  bodyMs: number;
  /** Whether the service finishes what is in flight and takes nothing new. */
  draining: () => boolean;
  /** Whether the body that a request announces is more than its address may have collected. */
  refusesBody: (request: NodeRequest) => boolean;
  /** Told of every answer that is not the transcoder's. */
  done: (call: Call, status: number) => void;
}

/** The call that is being handed over: the transcoder asks for it at once, so one place is enough. */
export interface Handover {
  call: Call | undefined;
}

/** Sends every request where its path belongs (decisions 15). */
export function createRoutes(
  table: RouteTable,
  handover: Handover,
): (request: NodeRequest, response: NodeResponse) => void {
  return (request, response) => {
    const call = new Call(request, table.addressOf);
    releaseBody(request, response);
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
    if (table.draining() && !ANSWERED_WHILE_DRAINING.test(url))
      return refuseUnheard(shuttingDown(), url, call, response, table);
    if (table.refusesBody(request))
      return refuseUnheard(errors.rateLimited({ retryAfter: 1 }), url, call, response, table);
    if (url.startsWith("/atrium.") || url.startsWith("/grpc.")) return procedure(url, call, request, response, table);
    if (request.headers.origin !== undefined && answersCors(url, request, response, table)) return;
    handover.call = call;
    const taken = table.rest.handle(request, response);
    handover.call = undefined;
    if (taken) return;
    for (const [name, value] of Object.entries(onEveryAnswer(call))) response.setHeader(name, value);
    if (table.extra?.(request, response) === true) return;
    call.protocol = protocolOf(call.header("content-type") ?? "");
    if (callsProcedure(url, call)) refuseProcedure(call, response, table, {});
    else refuse(errors.noRoute(), call, response, table);
  }
}

/** What says how the service is goes on saying it. */
const ANSWERED_WHILE_DRAINING = /^\/(?:readyz|healthz|grpc\.health\.v1\.Health\/\w+)$/u;

function shuttingDown(): ServiceError {
  return errors.unavailable({ message: "The service is shutting down; try again." });
}

/** Refuses a request of any protocol before anything else is done for it. */
function refuseUnheard(error: ServiceError, url: string, call: Call, response: NodeResponse, table: RouteTable): void {
  const headers = { ...onEveryAnswer(call), ...table.cors.headers(call.request as NodeRequest) };
  call.protocol = protocolOf(call.header("content-type") ?? "");
  if (callsProcedure(url, call)) {
    table.fail(error, call);
    return table.done(call, answerUnknown(error, call, response, headers));
  }
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  refuse(error, call, response, table);
}

/** True for a preflight request, which is answered; otherwise the answer that follows gets its CORS headers. */
function answersCors(url: string, request: NodeRequest, response: NodeResponse, table: RouteTable): boolean {
  if (request.method === "OPTIONS") {
    const preflight = table.cors.preflight(
      request,
      table.rest.allowed(url)?.join(", ") ?? "GET, POST, PUT, PATCH, DELETE",
    );
    if (preflight !== undefined) {
      (response as ServerResponse).writeHead(204, { ...NOSNIFF, ...preflight }).end();
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
  const extra = onEveryAnswer(call);
  const allowed = handler === undefined ? "" : methodsOf(handler);
  if (request.headers.origin !== undefined) {
    const preflight = handler === undefined ? undefined : table.cors.preflight(request, allowed);
    if (preflight !== undefined)
      return void (response as ServerResponse).writeHead(204, { ...extra, ...preflight }).end();
    Object.assign(extra, table.cors.headers(request));
  }
  if (handler === undefined) {
    if (callsProcedure(path, call)) return refuseProcedure(call, response, table, extra);
    for (const [name, value] of Object.entries(extra)) response.setHeader(name, value);
    return refuse(errors.noRoute(), call, response, table);
  }
  if (request.method === "OPTIONS")
    return void (response as ServerResponse).writeHead(204, { ...extra, allow: allowed }).end();
  call.policy = table.policyOf(handler);
  const { methodKind } = handler.method;
  handler(universalRequest(request, response, call))
    .then(async (answer) => {
      if (methodKind === "unary") await bodyArrived(request);
      if (answer.status < 400 || call.errorCode !== "")
        return writeResponse(answer, response, methodKind === "unary", extra);
      if (answer.status === 405) extra["allow"] = allowed;
      // 405 and 415 of connect come without an error; gRPC has none for them.
      if (call.protocol === "connect")
        return table.refuseUnread(answer.status, call).then((refusal) => writeResponse(refusal, response, true, extra));
      Object.assign(call, { errorCode: "protocol", status: answer.status });
      return writeResponse(answer, response, methodKind === "unary", extra);
    })
    .catch((reason: unknown) => {
      // Too late for an answer in the client's protocol: the connection says it.
      table.fail(reason, call);
      if (!response.headersSent) (response as ServerResponse).writeHead(500, extra).end();
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

/** Headers of every answer, whoever writes it. */
function onEveryAnswer(call: Call): Record<string, string> {
  return { "x-request-id": call.info.requestId, ...NOSNIFF };
}

/** Answers the call of a procedure there is not, in the form of its protocol. */
function refuseProcedure(
  call: Call,
  response: NodeResponse,
  table: RouteTable,
  extra: Readonly<Record<string, string>>,
): void {
  const error = unknownProcedure();
  table.fail(error, call);
  table.done(call, answerUnknown(error, call, response, extra));
}

/** Answers without any handler, in the form of REST. */
function refuse(error: ServiceError, call: Call, response: NodeResponse, table: RouteTable): void {
  call.protocol = "plain";
  table.fail(error, call);
  const { url = "", headers } = call.request;
  const printed = printError(error, {
    requestId: call.info.requestId,
    url,
    accept: headers.accept,
    scim: url.startsWith("/scim/v2/"),
  });
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
  if (hosts === 0 && request.httpVersion === "1.1")
    return errors.badRequest({ message: "There is no Host header.", headers: { connection: "close" } });
  if (hosts > 1)
    return errors.badRequest({
      message: "There are several Host headers.",
      headers: h2 ? {} : { connection: "close" },
    });
  if (bytes > headerBytes)
    return new ServiceError([431, "header_too_large", "The header block is larger than 16 KiB."]);
  return undefined;
}

/** A body over HTTP/2 has to arrive in time, unless both sides talk at once. */
function limitBody({ stream, url }: Http2ServerRequest, bodyMs: number): void {
  if (stream.endAfterHeaders || url.startsWith("/grpc.reflection.")) return;
  const timer = setTimeout(() => stream.close(8 /* CANCEL */), bodyMs);
  const stop = (): void => clearTimeout(timer);
  stream.once("end", stop);
  stream.once("close", stop);
}
