import { connect, constants, createServer } from "node:http2";
import type { IncomingHttpHeaders, IncomingHttpStatusHeader, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { Random } from "../support/random-of.ts";
import { partOf, undergo } from "./fault.ts";
import type { Fault, FaultProxy } from "./fault.ts";

interface Answer {
  header: IncomingHttpHeaders & IncomingHttpStatusHeader;
  trailer: IncomingHttpHeaders;
  body: Buffer;
}

/** With what streams are reset; 0 ends the whole connection. */
const RESETS = [
  0,
  constants.NGHTTP2_PROTOCOL_ERROR,
  constants.NGHTTP2_INTERNAL_ERROR,
  constants.NGHTTP2_REFUSED_STREAM,
  constants.NGHTTP2_CANCEL,
  constants.NGHTTP2_ENHANCE_YOUR_CALM,
];

/** The fault proxy of HTTP/2, for gRPC: what breaks is a stream, or the connection with all of them. */
export async function startStreamFaultProxy(target: string, random: Random): Promise<FaultProxy> {
  const proxy = { next: (_rpc: string): Fault => "none" };
  const sessions = new Set<ServerHttp2Session>();
  const onward = connect(target);
  onward.on("error", () => undefined);
  const server = createServer();
  server.on("session", (session: ServerHttp2Session) => {
    sessions.add(session);
    session.on("error", () => undefined);
    session.on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on("error", () => undefined);
    void handle(stream, headers).catch(() => {
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    });
  });

  async function handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const body = await buffer(stream);
    await undergo(proxy.next(headers[":path"]?.split("/").at(-1) ?? ""), random, {
      drop: () => close(stream),
      refuse(status, retryAfter) {
        stream.respond({ ":status": status, "content-type": "text/html", "retry-after": retryAfter });
        stream.end("<html>");
      },
      forward: () => forward(headers, body),
      respond: (answer, fault) => respond(stream, answer, fault),
    });
  }

  function respond(stream: ServerHttp2Stream, { header, trailer, body }: Answer, fault: Fault): void {
    if (stream.destroyed) return;
    stream.respond(header, { waitForTrailers: true });
    stream.on("wantTrailers", () => {
      if (fault === "close-stream") close(stream);
      else stream.sendTrailers(trailer);
    });
    if (fault === "truncate") stream.write(partOf(body, random), () => close(stream));
    else stream.end(body);
  }

  function close(stream: ServerHttp2Stream): void {
    const code = random.pick(RESETS);
    if (code === 0) stream.session?.destroy();
    else stream.close(code);
  }

  async function forward(headers: IncomingHttpHeaders, body: Buffer): Promise<Answer> {
    const { ":authority": _, ":scheme": __, ...others } = headers;
    const stream = onward.request(others);
    let header: Answer["header"] = {};
    let trailer: IncomingHttpHeaders = {};
    stream.on("response", (received) => (header = received));
    stream.on("trailers", (received: IncomingHttpHeaders) => (trailer = received));
    stream.end(body);
    return { body: await buffer(stream), header, trailer };
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(proxy, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      onward.close();
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
