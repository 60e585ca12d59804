import type { DescMessage, DescMethodStreaming, MessageInitShape } from "@bufbuild/protobuf";
import { createContextValues } from "./bundled/connect.ts";
import type { StreamResponse, Transport } from "./bundled/connect.ts";
import { lostOf, runCall } from "./call.ts";
import type { CallSettings } from "./call.ts";
import { AtriumError } from "./errors.ts";
import { settingsOf } from "./settings.ts";
import type { AtriumOptions } from "./settings.ts";

/** Switches off the limit that a transport has of its own. */
const NO_LIMIT = 0;

/** A connection to the service, for `createClient` of `@connectrpc/connect` with a single service. */
export function createAtriumTransport(options: AtriumOptions): Transport {
  const settings = settingsOf(options);
  const { timeoutMs } = settings;
  const inner = settings.transport;
  return {
    unary(method, signal, callTimeoutMs, header, input, contextValues) {
      return runCall(settings, method, { header, signal, timeoutMs: callTimeoutMs ?? timeoutMs }, (headers, leftMs) =>
        inner.unary(method, signal, leftMs ?? NO_LIMIT, headers, input, contextValues),
      );
    },
    stream(method, signal, callTimeoutMs, header, input, contextValues) {
      const given = { header, signal, timeoutMs: callTimeoutMs };
      if (method.methodKind !== "server_streaming")
        return inner.stream(method, signal, callTimeoutMs, header, input, contextValues);
      return streamOnce(settings, method, given, input, contextValues ?? createContextValues());
    },
  };
}

/**
 * A server stream is repeated until its first message has come: over Connect an error of the call arrives where the
 * first message would.
 */
async function streamOnce<I extends DescMessage, O extends DescMessage>(
  settings: CallSettings,
  method: DescMethodStreaming<I, O>,
  given: Parameters<typeof runCall>[2],
  input: AsyncIterable<MessageInitShape<I>>,
  contextValues: NonNullable<Parameters<Transport["stream"]>[5]>,
): Promise<StreamResponse<I, O>> {
  const requests: MessageInitShape<I>[] = [];
  for await (const request of input) requests.push(request);
  return runCall(settings, method, given, async (headers, leftMs) => {
    const { signal } = given;
    const timeoutMs = leftMs ?? (given.timeoutMs === undefined ? undefined : NO_LIMIT);
    const response = await settings.transport.stream(
      method,
      signal,
      timeoutMs,
      headers,
      replay(requests),
      contextValues,
    );
    const messages = response.message[Symbol.asyncIterator]();
    const first = await messages.next();
    return { ...response, message: following(first, messages, signal) };
  });
}

async function* replay<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

async function* following<T>(
  first: IteratorResult<T, unknown>,
  rest: AsyncIterator<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T> {
  try {
    for (let item = first; item.done !== true; item = await rest.next()) yield item.value;
  } catch (reason) {
    throw lostOf(AtriumError.from(reason), signal);
  } finally {
    await rest.return?.();
  }
}
