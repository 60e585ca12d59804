import { createRegistry } from "@bufbuild/protobuf";
import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError, createConnectRouter } from "@connectrpc/connect";
import type { HandlerContext, MethodImpl } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { errors } from "../platform/errors.ts";
import type { ServiceError } from "../platform/errors.ts";
import { sendHeadKey } from "../transcoding/index.ts";
import { callOf } from "./call.ts";
import type { Call } from "./call.ts";
import { codeOf, connectError, detailsOf, headersOf, shortMessage } from "./codes.ts";
import { MAX_TIMEOUT_MS } from "./deadline.ts";
import type { Gate } from "./gate/index.ts";
import { gzipMessages } from "./gzip.ts";
import { isUnknownCompression } from "./patches/connect-error-messages.ts";
import { keepMessagePlain } from "./patches/connect-grpc-message.ts";
import { onSentError } from "./patches/connect-sent-error.ts";
import type { StreamCall, UnaryCall } from "./pipeline.ts";
import type { Policy } from "./policy.ts";
import { memberEncoder } from "./printed-members.ts";
import type { Fail } from "./reporter.ts";
import { strictDecoder } from "./strict-json.ts";

/** An rpc with its policy and its implementation, wrapped by the pipeline. */
export interface CompiledRpc {
  policy: Policy;
  run: UnaryCall | StreamCall;
}

/** Creates the handlers for Connect, gRPC and gRPC-Web, by request path. */
export function connectHandlers(
  rpcs: readonly CompiledRpc[],
  gate: Gate,
  fail: Fail,
  shutdownSignal: AbortSignal,
  messageBytes: number,
): Map<string, UniversalHandler> {
  const router = createConnectRouter({
    acceptCompression: [gzipMessages],
    readMaxBytes: messageBytes,
    maxTimeoutMs: MAX_TIMEOUT_MS,
    shutdownSignal,
    requestGate: async (context) => {
      const call = callOf(context.values);
      const { policy } = call;
      if (policy === undefined) return;
      mapSentErrors(context, call, fail, () => gate.refusal(policy, call));
      try {
        const pending = gate.beforeMessage(policy, call);
        if (pending !== undefined) await pending;
      } catch (reason) {
        throw connectError(fail(reason, call));
      }
      checkQueryMessage(context);
    },
  });
  /** What a `google.protobuf.Any` in JSON may hold: the types of the files of the services. */
  const registry = createRegistry(...new Set(rpcs.map(({ policy }) => policy.method.parent.file)));
  for (const { policy, run } of rpcs) {
    const implementation =
      policy.method.methodKind === "unary" ? unary(run as UnaryCall, fail) : stream(run as StreamCall, fail);
    router.rpc(methodOf(policy), implementation as MethodImpl<DescMethod>, {
      jsonOptions: {
        useProtoFieldName: true,
        alwaysEmitImplicit: true,
        ignoreUnknownFields: true,
        registry,
        ...strictDecoder(policy.method.input),
        ...memberEncoder(policy.method.output),
      },
    });
  }
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
}

/** Allows Connect GET for exactly the rpcs whose bindings are all GET (decisions 15.6); Connect has none for streams. */
function methodOf(policy: Policy): DescMethod {
  const { NO_SIDE_EFFECTS, IDEMPOTENCY_UNKNOWN } = MethodOptions_IdempotencyLevel;
  const idempotency = policy.safe && policy.method.methodKind === "unary" ? NO_SIDE_EFFECTS : IDEMPOTENCY_UNKNOWN;
  if (policy.method.idempotency === idempotency) return policy.method;
  return Object.create(policy.method, { idempotency: { value: idempotency, enumerable: true } }) as DescMethod;
}

/** Bytes of a message of connect itself, which may repeat a header: a whole block of headers is no larger. */
const MAX_OWN_MESSAGE_BYTES = 16 * 1024;

/**
 * Gives errors that connect makes itself the code and details of the contract. A caller who is refused whatever the
 * message says gets that refusal instead.
 */
export function mapSentErrors(
  context: HandlerContext,
  call: Call,
  fail: Fail,
  refusalOf?: () => ServiceError | undefined,
): void {
  onSentError(context, (sent) => {
    keepMessagePlain(context.responseTrailer);
    // As over REST: caches keep a 404 or 501 for a while unless told otherwise (RFC 9110 §15.1).
    if (context.requestMethod === "GET") context.responseHeader.set("cache-control", "no-store");
    if (call.errorCode !== "") return;
    const refusal = call.message === undefined ? refusalOf?.() : undefined;
    const error = fail(refusal ?? sent, call);
    const { code } = sent;
    // Connect takes the headers of its protocols out of the metadata of errors.
    if (isUnknownCompression(sent)) context.responseHeader.set(acceptedBy(context), gzipMessages.name);
    Object.assign(sent, {
      code: refusal === undefined && code === Code.Unimplemented ? code : codeOf(error),
      rawMessage: shortMessage(error.message, MAX_OWN_MESSAGE_BYTES),
      details: detailsOf(error),
    });
    for (const [name, value] of Object.entries(headersOf(error))) sent.metadata.set(name, value);
  });
}

/** The header that names the compressions a protocol takes. */
function acceptedBy({ protocolName, method }: HandlerContext): string {
  if (protocolName !== "connect") return "grpc-accept-encoding";
  return method.methodKind === "unary" ? "accept-encoding" : "connect-accept-encoding";
}

/** Maps the errors of a unary rpc to Connect errors. */
export function unary(run: UnaryCall, fail: Fail): UnaryCall {
  return async (message, context) => {
    try {
      const answer = run(message, context);
      if (context.timeoutMs() === undefined) return await answer;
      return await beforeAbort(answer, context.signal);
    } catch (reason) {
      throw connectError(fail(reason, callOf(context.values)));
    }
  };
}

function stream(run: StreamCall, fail: Fail): StreamCall {
  return async function* (message, context) {
    context.values.set(sendHeadKey, () => callOf(context.values).sendHead?.(context.responseHeader));
    const answers = run(message, context)[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await beforeAbort(answers.next(), context.signal);
        if (next.done === true) return;
        yield next.value;
      }
    } catch (reason) {
      throw connectError(fail(reason, callOf(context.values)));
    } finally {
      void Promise.resolve(answers.return?.()).catch(() => undefined);
    }
  };
}

/** Refuses a GET whose message is not base64, which connect would report as an internal error. */
function checkQueryMessage({ requestMethod, url }: HandlerContext): void {
  if (requestMethod !== "GET") return;
  const { searchParams } = new URL(url);
  if (searchParams.get("base64") !== "1") return;
  try {
    base64Decode(searchParams.get("message") ?? "");
  } catch (error) {
    throw new ConnectError("the message is not base64", Code.InvalidArgument, undefined, undefined, error);
  }
}

/**
 * Settles with the result, or rejects with the signal's reason as soon as it is aborted: a deadline ends the call even
 * when the handler ignores the signal.
 */
function beforeAbort<T>(result: Promise<T> | T, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    // A later rejection of the handler has no one to handle it.
    Promise.resolve(result).catch(() => undefined);
    return Promise.reject(signal.reason as Error);
  }
  return new Promise<T>((resolve, reject) => {
    const aborted = (): void => reject((signal.reason as Error | undefined) ?? errors.deadlineExceeded());
    signal.addEventListener("abort", aborted, { once: true });
    Promise.resolve(result)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", aborted));
  });
}
