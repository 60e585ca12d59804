import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { createContextKey } from "@connectrpc/connect";
import type { ContextValues, HandlerContext } from "@connectrpc/connect";
import { RequestHeaders, ResponseHeaders } from "./headers.ts";
import { Refusal } from "./refusal.ts";
import type { RequestHead } from "./types.ts";

/** Media type of the response, for routes with several; set before the handler runs. */
export const mediaTypeKey = createContextKey<string>("application/json", { description: "negotiated media type" });

/**
 * Sends status and headers of a stream now, before its first message, which may be long in coming; set before the
 * handler runs. An error after it ends the stream in its protocol: over REST, as a last line.
 */
export const sendHeadKey = createContextKey<() => void>(() => undefined, { description: "sends the head of a stream" });

/**
 * The context of a call, for its handler. The signal and the `Headers` of request and response are created on first
 * use.
 */
export class RestContext implements HandlerContext {
  readonly method: DescMethod;
  readonly service: DescService;
  readonly protocolName: string;
  readonly requestMethod: string;
  readonly requestHeader: Headers;
  readonly values: ContextValues;
  /** Milliseconds left, or undefined without a deadline. */
  readonly timeoutMs: () => number | undefined;
  private readonly request: RequestHead;
  private readonly shutdown: AbortSignal | undefined;
  private controller: AbortController | undefined;
  /** Response headers that the handler has set; undefined until it sets one. */
  existingResponseHeader: Headers | undefined;
  /** Response trailers that the handler has set; undefined until it sets one. */
  existingResponseTrailer: Headers | undefined;
  private over: { readonly reason: unknown } | undefined;
  private onShutdown: (() => void) | undefined;

  constructor(
    method: DescMethod,
    request: RequestHead,
    values: ContextValues,
    shutdown: AbortSignal | undefined,
    timeoutMs: number | undefined,
    protocolName = "rest",
  ) {
    this.method = method;
    this.protocolName = protocolName;
    this.service = method.parent;
    this.requestMethod = request.method ?? "";
    this.requestHeader = new RequestHeaders(request);
    this.values = values;
    this.request = request;
    this.shutdown = shutdown;
    this.timeoutMs = timeoutMs === undefined ? noTimeout : remaining(timeoutMs);
  }

  get responseHeader(): Headers {
    return (this.existingResponseHeader ??= new ResponseHeaders());
  }

  get responseTrailer(): Headers {
    return (this.existingResponseTrailer ??= new Headers());
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      const controller = (this.controller = new AbortController());
      if (this.over !== undefined) controller.abort(this.over.reason);
      else if (this.shutdown !== undefined) this.follow(this.shutdown, controller);
    }
    return this.controller.signal;
  }

  /** The full URL. */
  get url(): string {
    const { headers, socket, url } = this.request;
    const authority = headers[":authority"] ?? headers.host ?? "localhost";
    return `${"encrypted" in socket ? "https" : "http"}://${authority as string}${url ?? "/"}`;
  }

  private follow(shutdown: AbortSignal, controller: AbortController): void {
    this.onShutdown = () => controller.abort(shutdown.reason);
    if (shutdown.aborted) this.onShutdown();
    else shutdown.addEventListener("abort", this.onShutdown, { once: true });
  }

  /** Aborts the signal; without a reason the call has completed. */
  end(reason: unknown = completed): void {
    if (this.over !== undefined) return;
    this.over = { reason };
    if (this.onShutdown !== undefined) this.shutdown?.removeEventListener("abort", this.onShutdown);
    this.controller?.abort(reason);
  }
}

const completed = new Refusal("canceled", "the call is over");

function noTimeout(): undefined {
  return undefined;
}

function remaining(timeoutMs: number): () => number {
  const end = performance.now() + timeoutMs;
  return () => end - performance.now();
}
