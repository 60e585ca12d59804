import { once } from "node:events";
import { connect as connectH2 } from "node:http2";
import type { ClientHttp2Session, IncomingHttpHeaders } from "node:http2";
import { request } from "node:https";
import { INSTANCE_KEY } from "../support/app.ts";
import type { Fetch, TestApp } from "../support/app.ts";
import type { Opened } from "../support/certificates.ts";

/** A certificate with its key, PEM; nothing for a client without one. */
export interface Presented {
  cert?: string;
  key?: string;
}

/** A response as tests compare it. `closed`: the connection ended without one. */
export interface Outcome {
  status: number | "closed";
  // Tests read responses of every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
  headers: IncomingHttpHeaders;
}

/** An app whose stored keys a test opens. */
export function opened({ databaseUrl }: TestApp): Opened {
  return { databaseUrl, instanceKey: INSTANCE_KEY };
}

/** Where an app serves mutual TLS, and how a client gets there. */
export function target(app: TestApp): { url: string; port: number; ca: string } {
  if (app.mutualTls === undefined) throw new Error("the service has no listener of mutual TLS");
  const { address, certificate } = app.mutualTls;
  return { url: address, port: Number(new URL(address).port), ca: certificate };
}

/** One GET over HTTP/1.1 on a connection of its own. */
export function get(
  app: TestApp,
  path: string,
  presented: Presented = {},
  headers: Record<string, string> = {},
): Promise<Outcome> {
  const { port, ca } = target(app);
  return new Promise((resolve) => {
    const closed = (): void => resolve({ status: "closed", body: undefined, headers: {} });
    const sent = request(
      { host: "127.0.0.1", port, path, ca, ...presented, headers, agent: false, servername: "localhost" },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("error", closed);
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, body: parsed(text), headers: response.headers }),
        );
      },
    );
    sent.on("error", closed);
    sent.end();
  });
}

/** An open HTTP/2 connection. */
export interface Connection {
  readonly session: ClientHttp2Session;
  get(path: string, headers?: Record<string, string>): Promise<Outcome>;
  close(): void;
}

/** Opens an HTTP/2 connection. */
export async function open(app: TestApp, presented: Presented = {}): Promise<Connection> {
  const { url, ca } = target(app);
  const session = connectH2(url, { ca, ...presented, servername: "localhost" });
  session.on("error", () => undefined);
  await new Promise((resolve, reject) => {
    session.once("connect", resolve);
    session.once("error", reject);
  });
  return {
    session,
    get: (path, headers = {}) =>
      new Promise((resolve) => {
        let head: IncomingHttpHeaders = {};
        let text = "";
        const stream = session.request({ ":path": path, ...headers });
        stream.setEncoding("utf8");
        stream.on("response", (received) => (head = received));
        stream.on("data", (chunk: string) => (text += chunk));
        stream.on("error", () => undefined);
        stream.on("close", () =>
          resolve({ status: Number(head[":status"] ?? Number.NaN) || "closed", body: parsed(text), headers: head }),
        );
      }),
    close: () => session.destroy(),
  };
}

/**
 * `fetch` over mutual TLS: requests to any host arrive at the listener of `app`, on one HTTP/2 connection that is opened
 * again when it has ended.
 */
export function fetchOver(app: TestApp, presented: Presented): Fetch {
  let opened: Promise<Connection> | undefined;
  const connected = async (): Promise<Connection> => {
    if (opened === undefined || (await opened).session.closed || (await opened).session.destroyed)
      opened = open(app, presented);
    return opened;
  };
  return async (url, { method = "GET", headers, body }) => {
    const { session } = await connected();
    const { pathname, search } = new URL(url);
    const sent = { ":method": method, ":path": pathname + search, ...(headers as Record<string, string>) };
    const stream = session.request(sent);
    stream.end(body ?? undefined);
    const [head] = (await once(stream, "response")) as [IncomingHttpHeaders];
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    const status = Number(head[":status"]);
    const received = Object.entries(head).filter(([name]) => !name.startsWith(":"));
    return new Response(status === 204 || status === 304 ? null : Buffer.concat(chunks), {
      status,
      headers: received.map(([name, value]) => [name, String(value)] as [string, string]),
    });
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
