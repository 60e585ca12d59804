import type { DescService } from "@bufbuild/protobuf";
import { createClient as createLibraryClient } from "./bundled/connect.ts";
import type { CallOptions, Client, Transport } from "./bundled/connect.ts";
import { remember } from "./methods.ts";

type OpenStream = (request: never, options?: CallOptions) => AsyncIterable<unknown>;

/** A client of one service. `paginate` knows its calls, and its streams end when a loop over them is left. */
export function createClient<T extends DescService>(service: T, transport: Transport): Client<T> {
  const client = createLibraryClient(service, transport);
  const calls = client as Record<string, unknown>;
  for (const method of service.methods) {
    const call = calls[method.localName];
    if (method.methodKind === "server_streaming") calls[method.localName] = closing(call as OpenStream);
    else if (typeof call === "function") remember(call, method);
  }
  return client;
}

/** The iterators of Connect have no `return`: when a loop is left, they leave the stream open. */
function closing(open: OpenStream): OpenStream {
  return (request, options = {}) => {
    const left = new AbortController();
    const signal = options.signal === undefined ? left.signal : AbortSignal.any([options.signal, left.signal]);
    return until(open(request, { ...options, signal }), left);
  };
}

async function* until<T>(messages: AsyncIterable<T>, left: AbortController): AsyncGenerator<T> {
  try {
    yield* messages;
  } finally {
    left.abort();
  }
}
