import { randomUUID } from "node:crypto";
import type { Message } from "@bufbuild/protobuf";
import type { ContextKey, ContextValues } from "@connectrpc/connect";
import { callerKey, requestInfoKey } from "../platform/caller.ts";
import type { Caller, RequestInfo } from "../platform/caller.ts";
import type { ServiceError } from "../platform/errors.ts";
import type { OpenSpan } from "../platform/tracing.ts";
import type { RequestHead } from "../transcoding/index.ts";
import { isUuid } from "../platform/value-rules.ts";
import { clientCertificateOf } from "./mtls/client-certificate.ts";
import type { ClientCertificate } from "./mtls/client-certificate.ts";
import type { Policy } from "./policy.ts";

/** Protocol of a request; `plain` is one that no rpc serves. */
export type Protocol = "rest" | "connect" | "grpc" | "grpc-web" | "plain";

/** Characters of a user agent that are kept. */
const MAX_USER_AGENT_LENGTH = 512;

/** Returns the client's address (decisions 3.11). */
export type AddressOf = (request: RequestHead) => string;

/**
 * One request from its head to its response. It is also the ContextValues of its handler, so that no value has to be
 * looked up or copied between the two.
 */
export class Call implements ContextValues {
  readonly request: RequestHead;
  readonly info: RequestInfo;
  /** What the client presented to the listener of mutual TLS. */
  readonly certificate: ClientCertificate | undefined;
  /** When the head had arrived, in milliseconds of `performance.now()`. */
  readonly started: number;
  protocol: Protocol = "rest";
  policy: Policy | undefined;
  caller: Caller | undefined;
  /** When the credential of the caller was verified, in milliseconds of `performance.now()`. */
  authenticatedAt = 0;
  /** Error of the domain's precondition for this caller, once evaluated. */
  preconditionError: ServiceError | undefined;
  /** The request message, once it has been read. */
  message: Message | undefined;
  /** Code of the error that ended the call, for logs and metrics. */
  errorCode = "";
  /** Sends the head of a stream before its first message, over the protocols of Connect. */
  sendHead: ((header: Headers) => void) | undefined;
  /** The span of the request, when tracing is on. */
  span: OpenSpan | undefined;
  /** HTTP status that belongs to `errorCode`. */
  status = 200;
  #more: Map<symbol, unknown> | undefined;

  constructor(request: RequestHead, addressOf: AddressOf) {
    const { headers } = request;
    const device = headers["x-device-uuid"];
    const deviceUuid = typeof device === "string" && isUuid(device) ? device.toLowerCase() : undefined;
    this.request = request;
    this.certificate = clientCertificateOf(request);
    this.started = performance.now();
    this.info = {
      requestId: requestIdOf(headers["x-request-id"]),
      address: addressOf(request),
      userAgent: (headers["user-agent"] ?? "").slice(0, MAX_USER_AGENT_LENGTH),
      deviceUuid,
      signal: undefined,
    };
  }

  /**
   * Makes later transactions of this call fail to commit once `signal` is aborted. Copies the caller, which other calls
   * may share.
   */
  limit(signal: AbortSignal): void {
    this.info.signal = signal;
    if (this.caller !== undefined) this.caller = { ...this.caller, signal };
  }

  get<T>(key: ContextKey<T>): T {
    if (key.id === callerKey.id) return this.caller as T;
    if (key.id === requestInfoKey.id) return this.info as T;
    return this.#more?.has(key.id) === true ? (this.#more.get(key.id) as T) : key.defaultValue;
  }

  set<T>(key: ContextKey<T>, value: T): this {
    (this.#more ??= new Map()).set(key.id, value);
    return this;
  }

  delete(key: ContextKey<unknown>): this {
    this.#more?.delete(key.id);
    return this;
  }

  /** Returns a header; undefined when absent, the values joined when it was sent twice. */
  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }
}

/** Returns the call that a handler context belongs to. */
export function callOf(values: ContextValues): Call {
  if (values instanceof Call) return values;
  throw new Error("the handler was called outside the server");
}

/** Returns the client's request id where it is safe in logs and headers, else a new one. */
function requestIdOf(sent: string | string[] | undefined): string {
  return typeof sent === "string" && /^[A-Za-z0-9._:~+/=@-]{1,128}$/.test(sent) ? sent : nextRequestId();
}

/** Random per process and followed by a counter: unique, in the form of a UUID, and cheap. */
const prefix = randomUUID().slice(0, 24);
let counter = 0;

function nextRequestId(): string {
  counter++;
  return prefix + counter.toString(16).padStart(12, "0");
}
