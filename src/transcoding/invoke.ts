import { create } from "@bufbuild/protobuf";
import type { DescMethod, DescMethodStreaming, DescMethodUnary, Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type {
  ContextValues,
  HandlerContext,
  Interceptor,
  StreamRequest,
  StreamResponse,
  UnaryRequest,
  UnaryResponse,
} from "@connectrpc/connect";
import type { RestContext } from "./context.ts";
import { LazyResponseHeaders } from "./headers.ts";
import type { ServiceEntry } from "./types.ts";

type Next = ReturnType<Interceptor>;
type AnyRequest = Parameters<Next>[0];
type UnaryImplementation = (message: Message, context: HandlerContext) => unknown;
type StreamImplementation = (message: Message, context: HandlerContext) => AsyncIterable<object>;

/** Calls one rpc's implementation through the interceptors. */
export type InvokeUnary = (message: Message, context: RestContext) => Message | Promise<Message>;
/** The same for a stream of responses. */
export type InvokeStream = (message: Message, context: RestContext) => AsyncIterable<Message>;

/** The implementation of an rpc; one that is absent refuses with `unimplemented`. */
function implementationOf(entry: ServiceEntry, method: DescMethod): (...args: never[]) => unknown {
  const found = (entry.implementation as Record<string, unknown>)[method.localName];
  if (typeof found === "function") return found.bind(entry.implementation) as (...args: never[]) => unknown;
  return () => {
    throw new ConnectError(`${method.parent.typeName}.${method.name} is not implemented`, Code.Unimplemented);
  };
}

/** A call as interceptors see it. The signal is created on first use. */
class Request {
  readonly stream: boolean;
  readonly message: unknown;
  readonly method: DescMethod;
  readonly service: DescMethod["parent"];
  readonly requestMethod: string;
  readonly url: string;
  readonly header: Headers;
  readonly contextValues: ContextValues;
  readonly #context: RestContext;

  constructor(stream: boolean, message: unknown, context: RestContext) {
    this.stream = stream;
    this.message = message;
    this.method = context.method;
    this.service = context.service;
    this.requestMethod = context.requestMethod;
    this.url = context.url;
    this.header = context.requestHeader;
    this.contextValues = context.values;
    this.#context = context;
  }

  get signal(): AbortSignal {
    return this.#context.signal;
  }
}

/** An interceptor may pass a copy made with `{...req}`, which lacks the getter. */
function withSignal(request: AnyRequest, context: RestContext): AnyRequest {
  if ("signal" in request) return request;
  return Object.defineProperty(request, "signal", { get: () => context.signal, enumerable: true });
}

function chain(last: Next, interceptors: readonly Interceptor[], context: RestContext): Next {
  let next = last;
  for (let i = interceptors.length - 1; i >= 0; i--) {
    const inner = next;
    next = (interceptors[i] as Interceptor)((request) => inner(withSignal(request, context)));
  }
  return next;
}

/** The context for the handler, with the changes of interceptors. */
function contextOf(request: AnyRequest, context: RestContext): HandlerContext {
  const { header, contextValues, service } = request;
  const own = Object.getOwnPropertyDescriptor(request, "signal") === undefined;
  if (own && header === context.requestHeader && contextValues === context.values) return context;
  return {
    method: context.method,
    service,
    protocolName: context.protocolName,
    requestMethod: context.requestMethod,
    url: context.url,
    requestHeader: header,
    responseHeader: context.responseHeader,
    responseTrailer: context.responseTrailer,
    timeoutMs: context.timeoutMs,
    signal: request.signal,
    values: contextValues,
  };
}

function copyHeaders(from: Headers, context: RestContext): void {
  if (from instanceof LazyResponseHeaders || from === context.responseHeader) return;
  const to = context.responseHeader;
  for (const name of [...to.keys()]) to.delete(name);
  for (const [name, value] of from) to.append(name, value);
}

/** Compiles the call of a unary rpc. */
export function unaryInvoker(
  entry: ServiceEntry,
  method: DescMethodUnary,
  interceptors: readonly Interceptor[],
): InvokeUnary {
  const implementation = implementationOf(entry, method) as UnaryImplementation;
  const { output } = method;
  const whole = (value: unknown): Message => create(output, value as Message);
  if (interceptors.length === 0) {
    return (message, context) => {
      const value = implementation(message, context);
      return value instanceof Promise
        ? (value as Promise<unknown>).then(whole)
        : isThenable(value)
          ? Promise.resolve(value).then(whole)
          : whole(value);
    };
  }
  return async (message, context) => {
    const last = async (request: UnaryRequest): Promise<UnaryResponse> => ({
      stream: false,
      method,
      message: whole(await implementation(request.message, contextOf(request, context))),
      service: context.service,
      header: new LazyResponseHeaders(context),
      trailer: new Headers(),
    });
    const next = chain(last as Next, interceptors, context);
    const response = (await next(new Request(false, message, context) as unknown as UnaryRequest)) as UnaryResponse;
    copyHeaders(response.header, context);
    return response.message;
  };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/** Compiles the call of a server-streaming rpc. */
export function streamInvoker(
  entry: ServiceEntry,
  method: DescMethodStreaming,
  interceptors: readonly Interceptor[],
): InvokeStream {
  const implementation = implementationOf(entry, method) as StreamImplementation;
  const { output } = method;
  async function* whole(values: AsyncIterable<object>): AsyncGenerator<Message> {
    for await (const value of values) yield create(output, value as Message);
  }
  if (interceptors.length === 0) return (message, context) => whole(implementation(message, context));
  return async function* (message, context) {
    const last = async (request: StreamRequest): Promise<StreamResponse> => {
      const messages: Message[] = [];
      for await (const one of request.message) messages.push(one);
      const [only] = messages;
      if (only === undefined || messages.length > 1)
        throw new ConnectError(`${method.name} takes exactly one message`, Code.Unimplemented);
      return {
        stream: true,
        method,
        message: whole(implementation(only, contextOf(request, context))),
        service: context.service,
        header: context.responseHeader,
        trailer: context.responseTrailer,
      };
    };
    const next = chain(last as Next, interceptors, context);
    const request = new Request(true, once(message), context) as unknown as StreamRequest;
    const response = (await next(request)) as StreamResponse;
    copyHeaders(response.header, context);
    yield* response.message;
  };
}

async function* once(message: Message): AsyncGenerator<Message> {
  yield message;
}
