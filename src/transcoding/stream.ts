import type { ServerResponse } from "node:http";
import { constants } from "node:http2";
import type { Message } from "@bufbuild/protobuf";
import { sendHeadKey } from "./context.ts";
import type { RestContext } from "./context.ts";
import type { Target } from "./route.ts";
import { piecesOf } from "./pieces.ts";
import { vary, writeHead } from "./send.ts";
import type { NodeRequest, NodeResponse, PrintedError } from "./types.ts";

/** What a streaming response needs of its exchange. */
export interface StreamExchange {
  readonly request: NodeRequest;
  readonly response: NodeResponse;
  /** The response has been handed to Node, or the client has disconnected. */
  readonly over: boolean;
  /** The head of the response has been written. */
  started: boolean;
  /** Adds the headers of every response, unless this one has them already. */
  addHeaders(headers: string[]): void;
  /** Marks the exchange as finished and reports its outcome. */
  finish(error: unknown): void;
  /** Returns the program's own error for a refusal of the library. */
  translated(error: unknown): unknown;
  printed(error: unknown): PrintedError;
}

/**
 * Sends a stream of messages: one JSON text per line, or the raw bytes of `google.api.HttpBody` under the content type
 * of the first. Status and headers are sent with the first message, so an error before it is sent as an ordinary error
 * response; by `sendHeadKey` the handler has them sent earlier. A later error is sent as a last line `{"error": …}`; a
 * raw stream is cut off.
 */
export async function sendStream(
  exchange: StreamExchange,
  target: Target,
  context: RestContext,
  messages: AsyncIterable<Message>,
  mediaType: string,
): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]();
  const wantsHead = new Promise<void>((resolve) => context.values.set(sendHeadKey, resolve));
  const pending = iterator.next();
  const known = await Promise.race([pending, wantsHead]);
  if (exchange.over) {
    void pending.catch(() => undefined);
    return stop(iterator);
  }
  start(exchange, target, context, known === undefined || known.done === true ? undefined : known.value, mediaType);
  // The response of HTTP/2 has this method too; its types do not say so.
  if (known === undefined) (exchange.response as ServerResponse).flushHeaders();
  if (exchange.request.method === "HEAD") {
    exchange.finish(undefined);
    exchange.response.end();
    return stop(iterator);
  }
  const abort = aborted(context.signal);
  try {
    for (
      let next = known ?? (await abort.before(pending));
      next.done !== true;
      next = await abort.before(iterator.next())
    ) {
      await sendMessage(exchange, target, next.value, mediaType, abort);
      if (exchange.over) break;
    }
    if (exchange.over) return await stop(iterator);
    exchange.finish(undefined);
    exchange.response.end();
  } catch (error) {
    void stop(iterator);
    breakOff(exchange, target, error);
  } finally {
    abort.forget();
  }
}

function start(
  exchange: StreamExchange,
  target: Target,
  context: RestContext,
  first: Message | undefined,
  mediaType: string,
): void {
  const headers: string[] = [];
  let contentType = (first === undefined ? undefined : target.raw(first)?.contentType) || mediaType;
  context.existingResponseHeader?.forEach((value, name) => {
    if (name === "content-type") contentType = value;
    else if (name !== "content-length") headers.push(name, value);
  });
  headers.push("content-type", contentType);
  if (target.offers.length > 1) vary(exchange.response, headers, "accept");
  exchange.addHeaders(headers);
  exchange.started = true;
  writeHead(exchange.response, { status: target.status, headers, body: undefined });
}

/** Writes a message at the client's pace; stops in the middle of it where the exchange ends. */
async function sendMessage(
  exchange: StreamExchange,
  target: Target,
  message: Message,
  mediaType: string,
  abort: Abort,
): Promise<void> {
  const raw = target.raw(message);
  const chunk = raw === undefined ? lineOf(target.print(message, mediaType)) : raw.data;
  if (chunk.length === 0) return;
  for (const piece of piecesOf(chunk)) {
    if (!exchange.response.write(piece)) await abort.before(drained(exchange.response));
    if (exchange.over) return;
  }
}

function lineOf(text: string | Uint8Array): string | Uint8Array {
  return typeof text === "string" ? `${text}\n` : text;
}

function breakOff(exchange: StreamExchange, target: Target, thrown: unknown): void {
  if (exchange.over) return;
  const error = exchange.translated(thrown);
  const { response } = exchange;
  exchange.finish(error);
  if (target.raw({} as Message) !== undefined) {
    if ("stream" in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else response.destroy();
    return;
  }
  const { body } = exchange.printed(error);
  const text = typeof body === "string" ? body : Buffer.from(body).toString();
  response.end(`{"error":${text.trim() || "{}"}}\n`);
}

async function stop(iterator: AsyncIterator<Message>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The stream is over for the client either way.
  }
}

function drained(response: NodeResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}

/** The end of a stream by its signal. */
interface Abort {
  /** The promise, or a rejection when the signal is aborted first. */
  before<T>(promise: Promise<T>): Promise<T>;
  /** Stops listening. */
  forget(): void;
}

/** Not `Promise.race` with one promise for the whole stream: that promise would keep every chunk until the end. */
function aborted(signal: AbortSignal): Abort {
  let reject: ((reason: unknown) => void) | undefined;
  const onAbort = (): void => reject?.(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  return {
    before: (promise) =>
      new Promise((resolve, fail) => {
        reject = fail;
        if (signal.aborted) return onAbort();
        promise.then(resolve, fail);
      }),
    forget: () => signal.removeEventListener("abort", onAbort),
  };
}
