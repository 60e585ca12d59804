import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { verifyDelivery } from "../../src/platform/outgoing/signature.ts";

/** How a peer misbehaves at the first post of an id. */
export const behaviours = ["good", "error", "reset", "hang", "garbage"] as const;
/** One of {@link behaviours}. */
export type Behaviour = (typeof behaviours)[number];

/** A message as a peer received it. */
export interface Message {
  type: string;
  id: string;
  data: Record<string, unknown> & { install_id?: string; callback_url?: string };
}

/** A peer: publisher or receiver, many endpoints on one port. */
export interface Peer {
  /** Address of the endpoint of this name. */
  url(endpoint: string): string;
  /** Sets the secret of the endpoint's posts, after registration. */
  useSecret(endpoint: string, secret: string): void;
  /** Posts with a wrong signature, or whose `webhook-id` is not the body's. */
  forged: number;
  /** Posts by endpoint and id, misanswered ones included. */
  got: Map<string, { endpoint: string; message: Message; times: number }>;
  close(): Promise<void>;
}

/**
 * Starts a peer on a free loopback port. `manner` is how an endpoint handles the first post of an id; `answer`, what it
 * returns otherwise.
 */
export async function startPeer(
  manner: (endpoint: string) => Behaviour,
  answer: (endpoint: string, message: Message) => number,
): Promise<Peer> {
  const secrets = new Map<string, string>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => take(request, response, Buffer.concat(chunks)));
    request.on("error", () => undefined);
  });

  function take(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const endpoint = (request.url ?? "/").slice(1);
    const headers = new Headers(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)] as [string, string]),
    );
    const message = JSON.parse(body.toString()) as Message;
    if (
      message.id !== headers.get("webhook-id") ||
      !verifyDelivery({
        headers,
        body,
        secrets: [secrets.get(endpoint) ?? ""],
        nowSeconds: Math.floor(Date.now() / 1000),
      })
    ) {
      peer.forged++;
      response.writeHead(401).end();
      return;
    }
    const key = `${endpoint} ${message.id}`;
    const times = (peer.got.get(key)?.times ?? 0) + 1;
    peer.got.set(key, { endpoint, message, times });
    const how = times > 1 ? "good" : manner(endpoint);
    if (how === "good") response.writeHead(answer(endpoint, message)).end();
    else if (how === "error") response.writeHead(500).end("boom");
    else if (how === "reset") request.socket.resetAndDestroy();
    else if (how === "garbage") request.socket.end(randomBytes(512));
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const peer: Peer = {
    url: (endpoint) => `http://127.0.0.1:${port}/${endpoint}`,
    useSecret: (endpoint, secret) => void secrets.set(endpoint, secret),
    forged: 0,
    got: new Map(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return peer;
}
