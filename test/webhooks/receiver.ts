import { createServer } from "node:http";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";

/** One post a receiver got. */
export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
  // A test looks into events of every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  event: any;
}

/** A webhook receiver on a free loopback port that answers as it is told. */
export interface Receiver {
  url: string;
  got: Received[];
  /** Resolves with the posts once there are `count` of them that match. */
  waitFor(count: number, match?: (post: Received) => boolean): Promise<Received[]>;
  /** Answers the posts that hang. */
  release(status: number): void;
  close(): Promise<void>;
}

/** Starts a receiver; `answer` gets the post and its number, counted from 1, and gives a status, or `hang`. */
export async function startReceiver(
  answer: (post: Received, nth: number) => number | "hang" = () => 200,
  headers: () => Record<string, string> = () => ({}),
): Promise<Receiver> {
  const got: Received[] = [];
  const hanging: ServerResponse[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      const post: Received = { headers: request.headers, body, event: JSON.parse(body) };
      got.push(post);
      const status = answer(post, got.length);
      if (status === "hang") hanging.push(response);
      else response.writeHead(status, headers()).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    got,
    async waitFor(count, match = () => true) {
      for (let attempt = 0; attempt < 4_800; attempt++) {
        const found = got.filter(match);
        if (found.length >= count) return found;
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      throw new Error(`${got.filter(match).length} of ${count} posts arrived in 2 minutes`);
    },
    release(status) {
      for (const response of hanging.splice(0)) response.writeHead(status, headers()).end();
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
