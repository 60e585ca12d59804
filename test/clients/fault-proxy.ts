import { createServer, request as send } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { buffer } from "node:stream/consumers";

/** What happens to one request. */
export type Fault =
  | "none"
  | "drop-request"
  | "drop-answer"
  | "delay"
  | "truncate"
  | "close-stream"
  | "duplicate"
  | "429"
  | "503";

/** Values of `Retry-After` that a client may meet. */
export const RETRY_AFTER = ["0", "1", "", "-1", "soon", "1.5", "99999999999999", "Thu, 01 Jan 1970 00:00:00 GMT"];

/** A server between a client and the service, which does to each request what it is told. */
export interface FaultProxy {
  url: string;
  /** Called for each request with the rpc's name. */
  next: (rpc: string) => Fault;
  close(): Promise<void>;
}

/** Starts the proxy in front of `target`. `random` chooses among odd values. */
export async function startFaultProxy(target: string, random: () => number): Promise<FaultProxy> {
  const proxy = { next: (_rpc: string): Fault => "none" };
  const server: Server = createServer((incoming, outgoing) => {
    void handle(incoming, outgoing).catch(() => outgoing.destroy());
  });

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    const fault = proxy.next(incoming.url?.split("/").at(-1) ?? "");
    if (fault === "drop-request") {
      outgoing.destroy();
      return;
    }
    if (fault === "429" || fault === "503") {
      const retryAfter = RETRY_AFTER[Math.floor(random() * RETRY_AFTER.length)] ?? "";
      outgoing.writeHead(Number(fault), { "content-type": "text/html", "retry-after": retryAfter }).end("<html>");
      return;
    }
    if (fault === "delay") await sleep(random() * 300);
    const answers = [forward(incoming, body)];
    if (fault === "duplicate") answers.push(forward(incoming, body));
    const [answer] = await Promise.all(answers);
    if (answer === undefined || fault === "drop-answer") {
      outgoing.destroy();
      return;
    }
    outgoing.writeHead(answer.status, answer.headers);
    if (fault === "close-stream") {
      outgoing.flushHeaders();
      outgoing.socket?.resetAndDestroy();
      return;
    }
    if (fault !== "truncate" || answer.body.length === 0) {
      outgoing.end(answer.body);
      return;
    }
    outgoing.write(answer.body.subarray(0, Math.floor(random() * answer.body.length)), () => outgoing.destroy());
  }

  function forward(incoming: IncomingMessage, body: Buffer) {
    return new Promise<{ status: number; headers: IncomingMessage["headers"]; body: Buffer }>((resolve, reject) => {
      const { method, headers } = incoming;
      const onward = send(new URL(incoming.url ?? "/", target), { method, headers, agent: false }, (answer) => {
        buffer(answer).then((bytes) => {
          const { "transfer-encoding": _, connection: __, ...others } = answer.headers;
          const headers = { ...others, "content-length": String(bytes.length) };
          resolve({ status: answer.statusCode ?? 502, headers, body: bytes });
        }, reject);
      });
      onward.on("error", reject);
      onward.end(body);
    });
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(proxy, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

/** Random numbers that a seed repeats (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
