import { createServer, request as send } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { Random } from "../support/random-of.ts";
import { partOf, undergo } from "./fault.ts";
import type { Fault, FaultProxy } from "./fault.ts";

interface Answer {
  status: number;
  headers: IncomingMessage["headers"];
  body: Buffer;
}

/** Starts the proxy in front of `target`. `random` chooses among odd values. */
export async function startFaultProxy(target: string, random: Random): Promise<FaultProxy> {
  const proxy = { next: (_rpc: string): Fault => "none" };
  const server: Server = createServer((incoming, outgoing) => {
    void handle(incoming, outgoing).catch(() => outgoing.destroy());
  });

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    await undergo(proxy.next(incoming.url?.split("/").at(-1) ?? ""), random, {
      drop: () => outgoing.destroy(),
      refuse: (status, retryAfter) =>
        outgoing.writeHead(status, { "content-type": "text/html", "retry-after": retryAfter }).end("<html>"),
      forward: () => forward(incoming, body),
      respond: (answer, fault) => respond(outgoing, answer, fault),
    });
  }

  function respond(outgoing: ServerResponse, { status, headers, body }: Answer, fault: Fault): void {
    outgoing.writeHead(status, headers);
    if (fault === "close-stream") {
      outgoing.flushHeaders();
      outgoing.socket?.resetAndDestroy();
    } else if (fault === "truncate" && body.length > 0) outgoing.write(partOf(body, random), () => outgoing.destroy());
    else outgoing.end(body);
  }

  function forward(incoming: IncomingMessage, body: Buffer) {
    return new Promise<Answer>((resolve, reject) => {
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
