import { once } from "node:events";
import { connect, createSecureServer } from "node:http2";
import type { ClientHttp2Session, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";

/** A gRPC status with which a proxy refuses a call. */
export interface Refusal {
  status: number;
  message: string;
}

/** A proxy that ends TLS before a Temporal server. */
export interface TemporalProxy {
  port: number;
  /** Headers of the calls so far. */
  calls: IncomingHttpHeaders[];
  close(): Promise<void>;
}

/** PEM texts of the proxy. */
export interface ProxyIdentity {
  cert: string;
  key: string;
  /** Clients need a certificate of this authority. */
  clientCa?: string;
}

/** Starts a proxy on a free loopback port. `refuse` sees the headers of each call. */
export async function startTemporalProxy(
  target: string,
  { clientCa, ...identity }: ProxyIdentity,
  refuse: (headers: IncomingHttpHeaders) => Refusal | undefined = () => undefined,
): Promise<TemporalProxy> {
  const sessions = new Set<ServerHttp2Session>();
  const calls: IncomingHttpHeaders[] = [];
  let far: ClientHttp2Session | undefined;
  const server = createSecureServer({
    ...identity,
    ...(clientCa !== undefined && { ca: clientCa, requestCert: true }),
  });
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session)).on("error", () => undefined);
  });
  server.on("sessionError", () => undefined);
  server.on("stream", (near, headers) => {
    near.on("error", () => undefined);
    calls.push(headers);
    const refusal = refuse(headers);
    if (refusal !== undefined) return answer(near, refusal);
    if (far === undefined || far.closed) far = connect(`http://${target}`).on("error", () => undefined);
    forward(near, headers, far);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    calls,
    async close() {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      for (const session of sessions) session.destroy();
      far?.destroy();
      await closed;
    },
  };
}

function answer(stream: ServerHttp2Stream, { status, message }: Refusal): void {
  const head = { "content-type": "application/grpc", "grpc-status": status, "grpc-message": message };
  stream.respond({ ":status": 200, ...head }, { endStream: true });
}

function forward(near: ServerHttp2Stream, headers: IncomingHttpHeaders, to: ClientHttp2Session): void {
  const { ":authority": _, ":scheme": _scheme, ...kept } = headers;
  const far = to.request(kept, { endStream: false });
  let trailers: IncomingHttpHeaders = {};
  far.on("error", () => near.close());
  far.on("trailers", (received) => (trailers = received));
  far.on("response", (head) => {
    const isWhole = head["grpc-status"] !== undefined;
    near.respond(head, isWhole ? { endStream: true } : { waitForTrailers: true });
    if (isWhole) return;
    near.on("wantTrailers", () => near.sendTrailers({ ...trailers }));
    far.pipe(near);
  });
  near.on("close", () => far.close());
  near.pipe(far);
}
