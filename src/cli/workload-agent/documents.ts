import type { ClientHttp2Stream } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Http2SessionManager } from "@connectrpc/connect-node";

/** A public document that is read again and again. */
export interface Document {
  readonly data: Buffer;
  /** Names this version of it; undefined where the service sent none. */
  readonly etag: string | undefined;
}

/** Reads public documents at their REST addresses, where the service responds 304 when nothing has changed. */
export function createDocuments(sessions: Http2SessionManager, basePath: string, timeoutMs: number, stop: AbortSignal) {
  /**
   * A document; undefined where it is still the version of `etag`.
   * @throws ConnectError with the code of the service's refusal
   */
  return async (path: string, etag: string | undefined): Promise<Document | undefined> => {
    stop.throwIfAborted();
    const { promise: expired, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new ConnectError("no response in time", Code.DeadlineExceeded)), timeoutMs);
    const headers = etag === undefined ? {} : { "if-none-match": etag };
    // The end of a connection is an error of its streams, also of those that have been read.
    const opened = sessions
      .request("GET", `${basePath}${path}`, headers, {})
      .then((stream) => stream.on("error", () => undefined));
    try {
      return await Promise.race([expired, opened.then(read)]);
    } finally {
      clearTimeout(timer);
      // Also one that is opened after the time limit.
      void opened.then(
        (stream) => stream.close(),
        () => undefined,
      );
    }
  };
}

async function read(stream: ClientHttp2Stream): Promise<Document | undefined> {
  let status = 0;
  let etag: string | undefined;
  stream.on("response", (headers) => {
    status = headers[":status"] ?? 0;
    etag = headers.etag;
  });
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  if (status === 304) return undefined;
  if (status === 200) return { data: Buffer.concat(chunks), etag };
  throw new ConnectError(`HTTP status ${status}`, status === 429 ? Code.ResourceExhausted : Code.Unavailable);
}
