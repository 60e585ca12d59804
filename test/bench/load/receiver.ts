/**
 * Somebody the service posts to: answers every post with 200 at once and remembers when each event came. Questions over
 * IPC: `{begin}` forgets, `{await: n, patienceMs}` answers when n events have come, with what was seen.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Latencies } from "./latencies.ts";

/** What came since the beginning. */
export interface Received {
  /** Different events. */
  events: number;
  /** Posts of an event that had come before. */
  repeated: number;
  /** Posts without a signature of each kind. */
  unsigned: number;
  /** From the first to the last, seconds. */
  seconds: number;
  /** From an event's timestamp to its arrival, milliseconds. */
  p50: number;
  p99: number;
}

let ids = new Set<string>();
let latencies = new Latencies();
let [posts, unsigned, first, last] = [0, 0, 0, 0];
let enough: { count: number; tell(): void } | undefined;

function seen(): Received {
  const [p50 = 0, p99 = 0] = latencies.percentiles(0.5, 0.99);
  return { events: ids.size, repeated: posts - ids.size, unsigned, seconds: (last - first) / 1000, p50, p99 };
}

const server = createServer((request, response) => {
  let body = "";
  request
    .setEncoding("utf8")
    .on("data", (part: string) => (body += part))
    .on("end", () => {
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
      last = performance.now();
      if (posts === 0) first = last;
      posts++;
      if (request.headers["webhook-signature"] === undefined || request.headers["service-signature"] === undefined)
        unsigned++;
      ids.add(String(request.headers["webhook-id"]));
      latencies.add(Date.now() - Date.parse(/"timestamp":"([^"]+)"/.exec(body)?.[1] ?? ""));
      if (enough !== undefined && ids.size >= enough.count) enough.tell();
    });
});

process.on("message", (question: { begin?: true; await?: number; patienceMs?: number }) => {
  if (question.begin === true) {
    ids = new Set();
    latencies = new Latencies();
    [posts, unsigned, first, last] = [0, 0, 0, 0];
  }
  const count = question.await ?? 0;
  const tell = (): void => {
    clearTimeout(timer);
    enough = undefined;
    process.send?.({ result: seen() });
  };
  const timer = setTimeout(tell, question.patienceMs ?? 0);
  if (ids.size >= count) tell();
  else enough = { count, tell };
});
process.on("disconnect", () => process.exit(0));
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.send?.({ ready: { port: (server.address() as AddressInfo).port } }));
