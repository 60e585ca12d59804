import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { DescField, DescMessage, DescMethod, DescService, Message, Registry } from "@bufbuild/protobuf";
import type { ContextValues, HandlerContext, Interceptor, ServiceImpl } from "@connectrpc/connect";

/** A request of node's HTTP/1.1 or HTTP/2 server. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;
/** What is known of a request before anything of its body is read. */
export type RequestHead = Pick<NodeRequest, "headers" | "method" | "url"> & {
  readonly socket: { readonly remoteAddress?: string | undefined };
};
/** Methods that both classes of node have: TypeScript cannot call what is overloaded differently in the two. */
interface CommonResponse {
  writeHead(status: number, headers?: OutgoingHttpHeaders | string[]): this;
  write(chunk: string | Uint8Array, callback?: (error?: Error | null) => void): boolean;
  end(chunk?: string | Uint8Array, encoding?: BufferEncoding): this;
  on(event: "close" | "drain", listener: () => void): this;
}
/** The response that belongs to a {@link NodeRequest}. */
export type NodeResponse = CommonResponse & (ServerResponse | Http2ServerResponse);

/** A service and the object that implements it: what goes to a Connect router too. */
export interface ServiceEntry<S extends DescService = DescService> {
  readonly service: S;
  /** Absent rpcs return `unimplemented`. */
  readonly implementation: Partial<ServiceImpl<S>>;
}

/** How one rpc looks over REST where `google.api.http` cannot say it. */
export interface RestRule {
  /** Status of success; 200 when 0 or absent. 204 sends no body, 3xx expects `location` in the response headers. */
  readonly status?: number | undefined;
  /** Media type of the response; `application/json` (`application/x-ndjson` for streams) when empty or absent. */
  readonly mediaType?: string | undefined;
  /** Further media types in which the response is available; turns on negotiation, `Vary: Accept` and 406. */
  readonly alternatives?: readonly string[] | undefined;
  /**
   * Media types of the request body; `application/json` when empty or absent. A type ending in `/*` and `*`+`/*` are
   * ranges. `application/x-www-form-urlencoded` reads a form into the fields of the whole message (body `*`).
   */
  readonly consumes?: readonly string[] | undefined;
  /** An absent body counts as `{}` (body `*`) or as an absent field. */
  readonly optionalBody?: boolean | undefined;
}

/** One binding of one rpc: an HTTP method and a path template. */
export interface Route {
  readonly method: DescMethod;
  /** `GET`, `POST`, … or `*` for a custom binding of every method. */
  readonly httpMethod: string;
  /** Path template as declared, e.g. `/v1/{name=shelves/*}`. */
  readonly template: string;
  /** `body` of the rule: `*`, the proto name of a field, or empty. */
  readonly body: string;
  /** `response_body` of the rule: proto name of a field, or empty. */
  readonly responseBody: string;
  readonly rule: RestRule;
}

/** A field of the request that cannot be taken. */
export interface Violation {
  /** Path in the names of the wire: `emails[0].value`. */
  readonly field: string;
  /** One word: `type`, `range`, `format`, `enum`, `oneof`, `duplicate`, `repeated`. */
  readonly code: string;
  /** For a person. */
  readonly message: string;
}

/** Why the library itself refuses a request. */
export type RefusalKind =
  | "method_not_allowed" // 405
  | "not_acceptable" // 406
  | "payload_too_large" // 413
  | "unsupported_media_type" // 415
  | "malformed_path" // 400: percent-encoding
  | "malformed_header" // 400: Connect-Timeout-Ms
  | "malformed_body" // 400: not JSON, or JSON that is forbidden
  | "invalid_path" // 400: violations
  | "invalid_query" // 400: violations
  | "invalid_body" // 400: violations
  | "deadline_exceeded" // 504
  | "canceled"; // 499: the client went away, or the server shuts down

/** Bounds on what is taken. */
export interface Limits {
  /** Body size in bytes, before and after inflation. Default 1 MiB. */
  readonly bodyBytes: number;
  /** Levels of JSON nesting, the root is level 1. Default 32. */
  readonly jsonDepth: number;
  /** Answers smaller than this, in bytes, are not compressed. Default 1,024. */
  readonly compressMinBytes: number;
  /** Rest of an unread body, in bytes, for which a refused connection is kept. Default 64 KiB. */
  readonly drainBytes: number;
  /** Violations reported at most. Default 20. */
  readonly violations: number;
}

/** What `printError` may look at. */
export interface ErrorRequest {
  readonly request: NodeRequest;
  /** Absent while only the path has matched (405). */
  readonly route: Route | undefined;
  readonly values: ContextValues;
  /** Response headers the gate, interceptors or handler had set; they are not sent with an error. */
  readonly responseHeader: Headers | undefined;
}

/** An error as it goes to the client. */
export interface PrintedError {
  readonly status: number;
  /** Lower-case names; `content-length` and the like are added. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** How one request ended, for logs and metrics. */
export interface Outcome extends ErrorRequest {
  readonly response: NodeResponse;
  /** Undefined for a success. */
  readonly error: unknown;
  /** Status of the success of a unary call: the rule's, or 304. */
  readonly status: number | undefined;
}

/** Prints a message in another media type than JSON. */
export type Encoder = (message: Message, method: DescMethod) => Uint8Array | string;

/** A list that must be in a JSON body, unless a bool field says that it is empty. */
export interface PresentList {
  readonly list: DescField;
  readonly emptyBy: DescField | undefined;
}

/** Settings of {@link createTranscoder}. Only `services` is needed. */
export interface TranscoderOptions {
  readonly services: readonly ServiceEntry[];
  /** Run round every call, in Connect's order: the first is outermost. */
  readonly interceptors?: readonly Interceptor[] | undefined;
  rest?(method: DescMethod): RestRule | undefined;
  /** Print `null` where the field is absent, or only where the returned field of the same message is present. */
  nullable?(field: DescField): boolean | DescField;
  /** Returns the lists of a request that must be in its JSON body, empty or not. */
  present?(input: DescMessage): readonly PresentList[];
  /**
   * The list of a request may be absent from the JSON body, but not empty there; only for fields of the whole message.
   */
  filled?(field: DescField): boolean;
  /**
   * Leave the field out while it has its default value, or only where the returned field of the same message is
   * present.
   */
  omitEmpty?(field: DescField): boolean | DescField;
  /**
   * Called after the match and before anything of the body is read. Throws to refuse. `params` are the decoded path
   * variables under their field paths (`user.id`); one with broken percent-encoding is there as it was sent.
   */
  gate?(context: HandlerContext, params: Readonly<Record<string, string>>, route: Route): void | Promise<void>;
  /** Values a request starts with. Must not throw. */
  contextValues?(request: NodeRequest): ContextValues;
  /**
   * Headers of every response that does not have them already, names in lower case and values in turn. Costs less than
   * setting them on node's response beforehand. Must not throw.
   */
  answerHeaders?(values: ContextValues): readonly string[];
  /** Turns a refusal of the library into an error of the program. */
  refuse?(refusal: Error & RefusalFacts): unknown;
  /** Prints whatever was thrown. Default: Connect's error JSON. */
  printError?(error: unknown, about: ErrorRequest): PrintedError;
  /** By media type, for `alternatives` and `mediaType` that are not JSON. */
  readonly encoders?: Readonly<Record<string, Encoder>> | undefined;
  /** Types `google.protobuf.Any` may hold; without it an Any in JSON is a violation. */
  readonly registry?: Registry | undefined;
  readonly limits?: Partial<Limits> | undefined;
  /** Aborts every running call's signal. */
  readonly shutdownSignal?: AbortSignal | undefined;
  /** Called once per request, when its response is handed to node or the client is gone. Must not throw. */
  finished?(outcome: Outcome): void;
}

/** What a refusal says besides its message. */
export interface RefusalFacts {
  readonly kind: RefusalKind;
  /** HTTP status. */
  readonly status: number;
  /** For the `invalid_` kinds, at least one. */
  readonly violations: readonly Violation[];
  /** For 405: `allow`. For 415: `accept` (RFC 9110, 15.5.16). */
  readonly headers: Readonly<Record<string, string>>;
}

/** REST for a set of services. */
export interface Transcoder {
  /** Every binding, in the order of the services. */
  readonly routes: readonly Route[];
  /**
   * Serves the request if some binding has its path, whatever the method. Returns false when none has; nothing was
   * touched then.
   */
  handle(request: NodeRequest, response: NodeResponse): boolean;
  /** Methods the path can be called with (with HEAD and OPTIONS), or undefined for an unknown path. */
  allowed(path: string): readonly string[] | undefined;
}
