import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError, createConnectRouter } from "@connectrpc/connect";
import type { HandlerContext, MethodImpl } from "@connectrpc/connect";
import { compressionGzip } from "@connectrpc/connect-node";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { errors } from "../platform/errors.ts";
import { callOf } from "./call.ts";
import type { Call } from "./call.ts";
import { codeOf, connectError, detailsOf, headersOf } from "./codes.ts";
import type { Gate } from "./gate/index.ts";
import type { StreamCall, UnaryCall } from "./pipeline.ts";
import type { Policy } from "./policy.ts";
import type { Fail } from "./reporter.ts";
import { strictDecoder } from "./strict-json.ts";

/** A rpc with its policy and the implementation behind the pipeline. */
export interface CompiledRpc {
  policy: Policy;
  run: UnaryCall | StreamCall;
}

/** Longest deadline a timer can hold; longer ones are refused as connect does. */
const maxTimeoutMs = 2 ** 31 - 1;
/** Bytes of one decoded message (decisions 15.4). */
const maxMessageBytes = 1024 * 1024;

/** Handlers for Connect, gRPC and gRPC-Web, by request path. */
export function connectHandlers(
  rpcs: readonly CompiledRpc[],
  gate: Gate,
  fail: Fail,
  shutdownSignal: AbortSignal,
): Map<string, UniversalHandler> {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip],
    readMaxBytes: maxMessageBytes,
    maxTimeoutMs,
    shutdownSignal,
    requestGate: async (context) => {
      const call = callOf(context.values);
      const { policy } = call;
      if (policy === undefined) return;
      settleOnAbort(context, call, policy, gate, fail);
      try {
        const pending = gate.beforeMessage(policy, call);
        if (pending !== undefined) await pending;
      } catch (reason) {
        throw connectError(fail(reason, call));
      }
      checkQueryMessage(context);
    },
  });
  for (const { policy, run } of rpcs) {
    const implementation =
      policy.method.methodKind === "unary" ? unary(run as UnaryCall, fail) : stream(run as StreamCall, fail);
    router.rpc(methodOf(policy), implementation as MethodImpl<DescMethod>, {
      jsonOptions: {
        useProtoFieldName: true,
        alwaysEmitImplicit: true,
        ignoreUnknownFields: true,
        ...strictDecoder(policy.method.input),
      },
    });
  }
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
}

/** Connect GET is for exactly the rpcs whose bindings are all GET (decisions 15.6), whatever else is declared. */
function methodOf(policy: Policy): DescMethod {
  const { NO_SIDE_EFFECTS, IDEMPOTENCY_UNKNOWN } = MethodOptions_IdempotencyLevel;
  const idempotency = policy.safe ? NO_SIDE_EFFECTS : IDEMPOTENCY_UNKNOWN;
  if (policy.method.idempotency === idempotency) return policy.method;
  return Object.create(policy.method, { idempotency: { value: idempotency, enumerable: true } }) as DescMethod;
}

/**
 * Why the signal of a call that ended well is aborted. Without a reason a new one, stack and all, would be made for
 * each call.
 */
const over = new DOMException("the call is over", "AbortError");

/**
 * Connect tells `context.abort` the very error it is about to send, on every
 * protocol. Errors it made itself (undecodable messages, broken framing,
 * deadlines) get code and details of the contract there; and a caller who would
 * be refused whatever the message says is told so instead.
 */
function settleOnAbort(context: HandlerContext, call: Call, policy: Policy, gate: Gate, fail: Fail): void {
  const controlled = context as HandlerContext & { abort(reason?: unknown): void };
  const { abort } = controlled;
  controlled.abort = (reason) => {
    if (reason instanceof ConnectError && call.errorCode === "") {
      const refusal = call.message === undefined ? gate.refusal(policy, call) : undefined;
      const error = fail(refusal ?? reason, call);
      const { code } = reason;
      Object.assign(reason, {
        code: refusal === undefined && code === Code.Unimplemented ? code : codeOf(error),
        rawMessage: error.message,
        details: detailsOf(error),
      });
      for (const [name, value] of Object.entries(headersOf(error))) reason.metadata.set(name, value);
    }
    abort(reason ?? over);
  };
}

function unary(run: UnaryCall, fail: Fail): UnaryCall {
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

/** Connect answers a GET whose message is no base64 as a fault of its own; it is the caller's. */
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
 * The result, or the signal's reason as soon as it is aborted: a deadline ends the call even if the handler does not
 * listen.
 */
function beforeAbort<T>(result: Promise<T> | T, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    // Whatever the handler still comes to, nobody waits for it any more.
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
