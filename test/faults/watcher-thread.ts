import { connect } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { isMainThread, parentPort, workerData } from "node:worker_threads";

/** Options of the thread of the watchers. */
export interface WatcherOptions {
  url: string;
  path: string;
  /** Bearers; each has a connection of its own with `each` streams. */
  tokens: readonly string[];
  each: number;
}

/** How many records have come over all streams, each stream's first included, and how many streams have ended. */
export interface WatcherCount {
  records: number;
  ended: number;
}

/** Opens every stream and reports the count whenever it has changed. */
function watch({ url, path, tokens, each }: WatcherOptions): void {
  const count: WatcherCount = { records: 0, ended: 0 };
  setInterval(() => parentPort?.postMessage(count), 20);
  /** Opens a stream, and the next one when it has been answered. */
  function open(session: ClientHttp2Session, token: string, left: number): void {
    if (left === 0) return;
    const stream = session.request({ ":method": "GET", ":path": path, authorization: `Bearer ${token}` });
    stream.once("data", () => open(session, token, left - 1));
    stream.on("data", (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) count.records++;
    });
    stream.on("error", () => undefined);
    stream.on("close", () => count.ended++);
  }
  for (const token of tokens) {
    const session = connect(url);
    session.on("error", () => undefined);
    open(session, token, each);
  }
}

if (!isMainThread) watch(workerData as WatcherOptions);
