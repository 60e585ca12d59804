import type { Http2ServerRequest } from "node:http2";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { errors, ServiceError } from "../platform/errors.ts";
import { continueTrace, tracing } from "../platform/tracing.ts";
import { bodyArrived, releaseBody } from "../transcoding/index.ts";
import type { NodeRequest, NodeResponse, Transcoder } from "../transcoding/index.ts";
import { sendHead, universalRequest, writeResponse } from "./adapter.ts";
import { Call } from "./call.ts";
import type { AddressOf, Protocol } from "./call.ts";
import { noTunnel } from "./client-error.ts";
import type { Cors } from "./cors.ts";
import { shuttingDown } from "./draining.ts";
import { callWithText, isGrpcWebText } from "./grpc-web-text.ts";
import type { Policy } from "./policy.ts";
import { NOSNIFF, printError } from "./print.ts";
import type { Fail } from "./reporter.ts";
import { refuseUnknown, callsProcedure, unknownProcedure } from "./procedure-refusals.ts";
import type { RefuseUnread } from "./procedure-refusals.ts";

/**
 * Handles a request that is not an rpc, such as the development mailbox. Returns false where it has no page, and
 * `other_method` for the path of a page with another method than GET and HEAD.
 */
export type PlainHandler = (request: NodeRequest, response: NodeResponse) => boolean | "other_method";

/** `Allow` of a page. */
const PAGE_METHODS = { allow: "GET, HEAD, OPTIONS" };

/** What requests are dispatched to. */
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
  /** Limits of a header block and of the time for a body over HTTP/2. Node enforces them over HTTP/1.1. */
  headerBytes: number;
  bodyMs: number;
  /** Whether the service accepts no new requests. */
  draining: () => boolean;
  /** Whether the announced body of a request exceeds what its address may have buffered. */
  refusesBody: (request: NodeRequest) => boolean;
  /** Called with every response that the transcoder did not send. */
  done: (call: Call, status: number) => void;
}

/** The call that the transcoder is about to serve; it reads this synchronously. */
export interface Handover {
  call: Call | undefined;
}

/** Dispatches requests by their path (decisions 15). */
export function createRoutes(
  table: RouteTable,
  handover: Handover,
): (request: NodeRequest, response: NodeResponse) => void {
  /** `/atrium.` and `/grpc.`: what is below is a procedure, known or not. */
  const packages = [...new Set([...table.procedures.keys()].map((path) => path.slice(0, path.indexOf(".") + 1)))];
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
    if (request.method === "CONNECT") return refuse(noTunnel(), call, response, table);
    const broken = brokenHead(request, table.headerBytes);
    if (broken !== undefined) return refuse(broken, call, response, table);
    if ("stream" in request) limitBody(request, table.bodyMs);
    const url = pathOf(request);
    if (table.draining() && !SERVED_WHILE_DRAINING.test(url))
      return refuseEarly(shuttingDown(), url, call, response, table);
    if (table.refusesBody(request))
      return refuseEarly(errors.rateLimited({ retryAfter: 1 }), url, call, response, table);
    if (packages.some((start) => url.startsWith(start))) return procedure(url, call, request, response, table);
    if (request.headers.origin !== undefined && handleCors(url, request, response, table)) return;
    handover.call = call;
    const taken = table.rest.handle(request, response);
    handover.call = undefined;
    if (taken) return;
    for (const [name, value] of Object.entries(commonHeaders(call))) response.setHeader(name, value);
    if (table.cors.varies) response.setHeader("vary", "Origin");
    const page = table.extra?.(request, response);
    if (page === true) return;
    if (page === "other_method" && request.method === "OPTIONS")
      return void response.writeHead(204, PAGE_METHODS).end();
    call.protocol = protocolOf(call.header("content-type") ?? "");
    if (callsProcedure(url, call)) refuseProcedure(call, response, table, {});
    else if (page === "other_method") refuse(errors.methodNotAllowed({ headers: PAGE_METHODS }), call, response, table);
    else refuse(SCIM_ME.test(url) ? errors.unimplemented({ message: NO_ME }) : errors.noRoute(), call, response, table);
  }
}

/** The resource of the caller themselves (RFC 7644 §3.11), whom a SCIM token does not have. */
const SCIM_ME = /^\/scim\/v2\/organizations\/[^/]+\/Me$/u;
const NO_ME = "A SCIM token stands for no user; there is no /Me.";

/** Paths that are served while the service is draining. */
const SERVED_WHILE_DRAINING = /^\/(?:readyz|healthz|grpc\.health\.v1\.Health\/\w+)$/u;

/** Refuses a request of any protocol before it is dispatched. */
function refuseEarly(error: ServiceError, url: string, call: Call, response: NodeResponse, table: RouteTable): void {
  const headers = { ...commonHeaders(call), ...table.cors.headers(call.request as NodeRequest) };
  call.protocol = protocolOf(call.header("content-type") ?? "");
  if (callsProcedure(url, call)) {
    table.fail(error, call);
    return table.done(call, refuseUnknown(error, call, response, headers));
  }
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  refuse(error, call, response, table);
}

/** Responds to a preflight request and returns true; otherwise sets the CORS headers of the later response. */
function handleCors(url: string, request: NodeRequest, response: NodeResponse, table: RouteTable): boolean {
  if (request.method === "OPTIONS") {
    const preflight = table.cors.preflight(
      request,
      table.rest.allowed(url)?.join(", ") ?? "GET, POST, PUT, PATCH, DELETE",
    );
    if (preflight !== undefined) {
      response.writeHead(204, { ...NOSNIFF, ...preflight }).end();
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
  const extra = commonHeaders(call);
  const allowed = handler === undefined ? "POST, OPTIONS" : methodsOf(handler);
  if (request.headers.origin !== undefined) {
    // Of an unknown procedure too: without it a browser does not let a page see that the procedure is unknown.
    const preflight = table.cors.preflight(request, allowed);
    if (preflight !== undefined) return void response.writeHead(204, { ...extra, ...preflight }).end();
    Object.assign(extra, table.cors.headers(request));
  } else if (request.method !== "POST" && table.cors.varies) extra["vary"] = "Origin";
  if (handler === undefined) {
    if (callsProcedure(path, call)) return refuseProcedure(call, response, table, extra);
    for (const [name, value] of Object.entries(extra)) response.setHeader(name, value);
    return refuse(errors.noRoute(), call, response, table);
  }
  if (request.method === "OPTIONS") return void response.writeHead(204, { ...extra, allow: allowed }).end();
  call.policy = table.policyOf(handler);
  const { methodKind } = handler.method;
  // The content type of text is set when the answer is there.
  if (methodKind !== "unary" && !isGrpcWebText(type)) call.sendHead = (header) => sendHead(header, response, extra);
  const asked = universalRequest(request, response, call);
  (isGrpcWebText(type) ? callWithText(handler, asked) : handler(asked))
    .then(async (answer) => {
      if (methodKind === "unary") await bodyArrived(request);
      if (answer.status < 400 || call.errorCode !== "")
        return writeResponse(answer, response, methodKind === "unary", extra);
      if (answer.status === 405) extra["allow"] = allowed;
      // Connect sends 405 and 415 without an error body; gRPC has no status for them.
      if (call.protocol === "connect" && (answer.status === 405 || answer.status === 415))
        return table.refuseUnread(answer.status, call).then((refusal) => writeResponse(refusal, response, true, extra));
      Object.assign(call, { errorCode: "protocol", status: answer.status });
      return writeResponse(answer, response, methodKind === "unary", extra);
    })
    .catch((reason: unknown) => {
      // Too late for an error in the client's protocol.
      table.fail(reason, call);
      if (!response.headersSent) response.writeHead(500, extra).end();
      else response.destroy();
    })
    .finally(() => table.done(call, call.status));
}

/** Returns the methods of a procedure. HEAD is allowed with GET. */
function methodsOf({ allowedMethods }: UniversalHandler): string {
  return [...allowedMethods, ...(allowedMethods.includes("GET") ? ["HEAD"] : []), "OPTIONS"].join(", ");
}

function protocolOf(type: string): Protocol {
  const lower = type.toLowerCase();
  if (!lower.startsWith("application/grpc")) return "connect";
  return lower.startsWith("application/grpc-web") ? "grpc-web" : "grpc";
}

/** Returns the headers of every response. */
function commonHeaders(call: Call): Record<string, string> {
  return { "x-request-id": call.info.requestId, ...NOSNIFF };
}

/** Refuses the call of an unknown procedure, in its protocol. */
function refuseProcedure(
  call: Call,
  response: NodeResponse,
  table: RouteTable,
  extra: Readonly<Record<string, string>>,
): void {
  const error = unknownProcedure();
  table.fail(error, call);
  table.done(call, refuseUnknown(error, call, response, extra));
}

/** Refuses a request in the form of REST. */
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
  response.writeHead(printed.status, { ...printed.headers, ...length });
  if (call.request.method === "HEAD") response.end();
  else response.end(printed.body);
  table.done(call, printed.status);
}

/** Returns the path without query. Rewrites the absolute form of RFC 9112 §3.2.2 to a path. */
function pathOf(request: NodeRequest): string {
  let url = request.url ?? "";
  if (!url.startsWith("/") && /^https?:\/\//i.test(url)) {
    // The authority ends at the first of these characters; a URL without a path may have a query with slashes.
    const rest = url.slice(url.indexOf("//") + 2).replace(/^[^/?#]*/, "");
    request.url = url = rest.startsWith("/") ? rest : `/${rest}`;
  }
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}

/** Returns the error of a head that node accepts: no Host header or several, or over HTTP/2 too large a block. */
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

/** Limits the time for a body over HTTP/2, except for reflection, which streams in both directions. */
function limitBody({ stream, url }: Http2ServerRequest, bodyMs: number): void {
  if (stream.endAfterHeaders || url.startsWith("/grpc.reflection.")) return;
  const timer = setTimeout(() => stream.close(8 /* CANCEL */), bodyMs);
  const stop = (): void => clearTimeout(timer);
  stream.once("end", stop);
  stream.once("close", stop);
}
