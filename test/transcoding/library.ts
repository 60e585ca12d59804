import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, Server } from "node:http";
import { request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { createTranscoder, mediaTypeKey } from "../../src/transcoding/index.ts";
import type { Transcoder, TranscoderOptions } from "../../src/transcoding/index.ts";
import { HttpBodySchema } from "./gen/google/api/httpbody_pb.ts";
import type { Everything } from "./gen/library/v1/library_pb.ts";
import { LibraryService } from "./gen/library/v1/library_pb.ts";

/** What the handlers received. */
export interface Seen {
  message: unknown;
  context: HandlerContext | undefined;
  signals: AbortSignal[];
}

function count(to: number, failAfter: number, each: (value: number) => object, context: HandlerContext, seen: Seen) {
  return (async function* () {
    seen.signals.push(context.signal);
    context.responseHeader.set("x-first", "set");
    for (let value = 1; value <= to; value++) {
      if (context.signal.aborted) return;
      if (failAfter > 0 && value > failAfter) throw new ConnectError("enough", Code.ResourceExhausted);
      if (value % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
      yield each(value);
    }
  })();
}

/** Implementation of the test services. */
export function library(seen: Seen): Partial<ServiceImpl<typeof LibraryService>> {
  const keep = <T>(message: T, context: HandlerContext): T => {
    seen.message = message;
    seen.context = context;
    return message;
  };
  return {
    echo: (message, context) => keep(message, context),
    query: async (message, context) => keep(message, context),
    getShelf: (message, context) => {
      keep(message, context);
      return { name: message.name, size: message.limit ?? 0 };
    },
    putInner: (message, context) => keep(message, context),
    putWords: (message, context) => ({ words: keep(message, context).words, other: "not shown" }),
    upload: (message, context) => keep(message, context).file ?? create(HttpBodySchema),
    raw: (message, context) => keep(message, context),
    countUp: ({ to, failAfter, padding }, context) =>
      count(to, failAfter, (value) => ({ value, padding: "x".repeat(padding) }), context, seen),
    download: ({ to, failAfter, padding }, context) =>
      count(
        to,
        failAfter,
        (value) =>
          create(HttpBodySchema, { contentType: "text/csv", data: Buffer.from(`${value},${"x".repeat(padding)}\n`) }),
        context,
        seen,
      ),
    act: (message, context) => act(keep(message, context).how, context, seen),
    redirect: (_message, context) => {
      context.responseHeader.set("location", "https://example.test/there");
      return {};
    },
    remove: () => ({}),
    several: (_message, context) => ({ name: context.values.get(mediaTypeKey), size: 1 }),
  };
}

async function act(how: string, context: HandlerContext, seen: Seen): Promise<{ how: string }> {
  seen.signals.push(context.signal);
  switch (how) {
    case "crash":
      throw new Error("private detail");
    case "error":
      throw new ConnectError("no such shelf", Code.NotFound, { "x-why": "test" });
    case "hang":
      return new Promise(() => undefined);
    case "wait":
      return new Promise((_resolve, reject) =>
        context.signal.addEventListener("abort", () => reject(context.signal.reason as Error)),
      );
    case "headers": {
      const { responseHeader: headers } = context;
      headers.set("X-Twice", "one");
      headers.set("x-twice", "two");
      return { how: `${headers.get("X-TWICE")} ${headers.has("x-once")}` };
    }
    case "more headers": {
      const { responseHeader: headers } = context;
      headers.set("x-gone", "one");
      headers.set("x-spaced", "  two ");
      headers.append("x-list", "three");
      headers.append("X-List", "four");
      headers.append("set-cookie", "a=1");
      headers.append("set-cookie", "b=2");
      headers.delete("X-Gone");
      return { how: [...headers.keys()].join(" ") };
    }
    case "no header":
      context.responseHeader.set("x-broken", "one\r\nx-injected: two");
      return { how };
    case "long":
      return { how: "long ".repeat(1000) };
  }
  context.responseHeader.set("x-how", how);
  return { how };
}

/** A transcoder on a real port, closed by `using`. */
export interface Running extends AsyncDisposable {
  readonly port: number;
  readonly seen: Seen;
  readonly transcoder: Transcoder;
  readonly server: Server;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
}

/** A request of a test. */
export interface CallOptions {
  body?: string | Uint8Array;
  headers?: Record<string, string>;
}

/** Its response. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  json(): unknown;
}

/** Starts the test services; `options` override the defaults. */
export async function start(options: Partial<TranscoderOptions> = {}): Promise<Running> {
  const seen: Seen = { message: undefined, context: undefined, signals: [] };
  const transcoder = createTranscoder({
    services: [{ service: LibraryService, implementation: library(seen) }],
    ...options,
    rest: options.rest ?? ((method) => rules[method.name]),
    nullable: (field) => field.name === "maybe" || field.name === "created_at",
    omitEmpty: (field) => field.name === "hidden",
    encoders: { "text/csv": (message) => `name\n${(message as unknown as { name: string }).name}\n` },
  });
  const server = createServer((request, response) => {
    if (!transcoder.handle(request, response)) response.writeHead(404).end("no route");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    seen,
    transcoder,
    server,
    call: (method, path, call = {}) => callPort(port, method, path, call),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const rules: Record<string, ReturnType<NonNullable<TranscoderOptions["rest"]>>> = {
  Remove: { status: 204 },
  Redirect: { status: 302 },
  PutInner: { optionalBody: true },
  Several: { alternatives: ["text/csv", "application/x+json"] },
};

/** Sends one request with `node:http`. */
function callPort(
  port: number,
  method: string,
  path: string,
  { body, headers = {} }: CallOptions = {},
): Promise<Reply> {
  const json = typeof body === "string" ? { "content-type": "application/json" } : {};
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { port, host: "127.0.0.1", method, path, headers: { ...json, ...headers }, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const bytes = Buffer.concat(chunks);
          const text = bytes.toString();
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: bytes,
            text,
            json: () => JSON.parse(text) as unknown,
          });
        });
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

/** The message the echo handler got. */
export function echoed(seen: Seen): Everything {
  return seen.message as Everything;
}
