import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { signDelivery, verifyDelivery } from "../../src/platform/outgoing/signature.ts";

/** What the service posts to a publisher's provision webhook. */
export interface ProvisionCall {
  type: string;
  timestamp: string;
  id: string;
  data: {
    install_id: string;
    slug: string;
    org: { org_uuid: string; name: string };
    callback_url: string;
    expires_at: string;
    plan_id: string;
    quantity: number;
  };
}

/** A response of a publisher: status, body (JSON, or text sent unchanged), headers. */
export interface PublisherReply {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

/** A publisher's server on this machine. */
export interface Publisher {
  /** Address for `provision_webhook`. */
  url: string;
  /** Calls with a valid signature so far, in order. */
  calls: ProvisionCall[];
  /** Calls refused because their signature was wrong. */
  forged: number;
  /** Sets the secret that calls are signed with, after publication. */
  useSecret(secret: string): void;
  /** Reports an outcome to a callback address, signed as calls are; rejects when it is refused. */
  report(url: string, outcome: object): Promise<void>;
  close(): Promise<void>;
}

/** Starts a publisher that verifies signatures and responds as the test says, on a free loopback port. */
export async function startPublisher(
  answer: (call: ProvisionCall, nth: number) => PublisherReply | Promise<PublisherReply>,
): Promise<Publisher> {
  let secrets: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => void reply(Buffer.concat(chunks)));

    async function reply(body: Buffer): Promise<void> {
      const headers = new Headers(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)] as [string, string]),
      );
      if (!verifyDelivery({ headers, body, secrets, nowSeconds: Math.floor(Date.now() / 1000) })) {
        publisher.forged++;
        response.writeHead(401).end();
        return;
      }
      const call = JSON.parse(body.toString()) as ProvisionCall;
      publisher.calls.push(call);
      const { status, body: answerBody, headers: more } = await answer(call, publisher.calls.length);
      response.writeHead(status, { "content-type": "application/json", ...more });
      response.end(
        answerBody === undefined || typeof answerBody === "string" ? answerBody : JSON.stringify(answerBody),
      );
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const publisher: Publisher = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/provision`,
    calls: [],
    forged: 0,
    useSecret: (secret) => {
      secrets = [secret];
    },
    async report(url, outcome) {
      const body = JSON.stringify(outcome);
      const signature = signDelivery({
        id: `msg_${Date.now()}`,
        timestamp: Math.floor(Date.now() / 1000),
        body,
        secrets,
      });
      const answer = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", ...signature },
        body,
      });
      if (!answer.ok) throw new Error(`the publisher's report was answered ${answer.status}: ${await answer.text()}`);
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return publisher;
}
