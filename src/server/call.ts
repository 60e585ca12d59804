import { randomUUID } from "node:crypto";
import type { ContextKey, ContextValues } from "@connectrpc/connect";
import { callerKey, requestInfoKey } from "../platform/caller.ts";
import type { Caller, RequestInfo } from "../platform/caller.ts";
import type { ServiceError } from "../platform/errors.ts";
import type { OpenSpan } from "../platform/tracing.ts";
import type { RequestHead } from "../transcoding/index.ts";
import { isUuid } from "../platform/value-rules.ts";
import type { Policy } from "./policy.ts";

/** How a request speaks. */
export type Protocol = "rest" | "connect" | "grpc" | "grpc-web" | "plain";

/** Characters of a user agent that are kept. */
const mostUserAgent = 512;

/** Finds the client's address (decisions 3.11). */
export type AddressOf = (request: RequestHead) => string;

/**
 * One request on its way through the server. It is the call's ContextValues at
 * the same time, so that nothing has to be looked up or copied between the two.
 */
export class Call implements ContextValues {
  readonly request: RequestHead;
  readonly info: RequestInfo;
  /** Milliseconds of `performance.now()`. */
  readonly started: number;
  protocol: Protocol = "rest";
  policy: Policy | undefined;
  caller: Caller | undefined;
  /** When the caller was found to be who they are, milliseconds of `performance.now()`. */
  identifiedAt = 0;
  /**
   * The domain has been asked about the caller before the message was read; what it objects to is thrown when it is its
   * turn.
   */
  heard = false;
  objection: ServiceError | undefined;
  /** Powers, tenant and path ids have been judged. */
  admitted = false;
  /** The tenant or the app is named in the body and is judged once that is read. */
  tenantPending = false;
  /** The caller is no administrator, but of some app, on an rpc that takes such callers too. */
  anyAppAdmin = false;
  /** The caller names themselves in a call that is open to that person without being administrator. */
  namesSelf = false;
  /** The request message has been read. */
  decoded = false;
  /** `X-Device-Uuid` was sent and is none. */
  readonly badDevice: boolean;
  /** Code of the error that ended the call, for logs and metrics. */
  errorCode = "";
  /** The request in the trace, when traces are on. */
  span: OpenSpan | undefined;
  /** HTTP status that belongs to `errorCode`. */
  status = 200;
  #more: Map<symbol, unknown> | undefined;

  constructor(request: RequestHead, addressOf: AddressOf) {
    const { headers } = request;
    const device = headers["x-device-uuid"];
    const deviceUuid = typeof device === "string" && isUuid(device) ? device.toLowerCase() : undefined;
    this.request = request;
    this.started = performance.now();
    this.badDevice = device !== undefined && deviceUuid === undefined;
    this.info = {
      requestId: requestIdOf(headers["x-request-id"]),
      address: addressOf(request),
      userAgent: (headers["user-agent"] ?? "").slice(0, mostUserAgent),
      deviceUuid,
      signal: undefined,
    };
  }

  /**
   * From here on transactions of this call commit nothing once `signal` is aborted. The caller may be shared with other
   * calls, so it gets a copy.
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

  /** A header that may occur once; undefined when absent, the values joined when sent twice. */
  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }
}

/** The call a handler context belongs to. */
export function callOf(values: ContextValues): Call {
  if (values instanceof Call) return values;
  throw new Error("the handler was called outside the server");
}

/** The client's id where it is harmless in logs and headers, else one of our own. */
function requestIdOf(sent: string | string[] | undefined): string {
  return typeof sent === "string" && /^[A-Za-z0-9._:~+/=@-]{1,128}$/.test(sent) ? sent : nextRequestId();
}

/** Random for each process, a counter after that: unique, in the form of a UUID, and cheap. */
const prefix = randomUUID().slice(0, 24);
let counter = 0;

function nextRequestId(): string {
  counter++;
  return prefix + counter.toString(16).padStart(12, "0");
}
