import { constants, createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { OutgoingError } from "./failure.ts";

/** The part of a response body that is kept. */
export interface KeptBody {
  body: Buffer;
  /** The body was longer. */
  truncated: boolean;
}

/** Reads at most `maxBytes`; the rest stays unread. */
export async function readBounded(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<KeptBody> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of source) {
    const room = maxBytes - length;
    if (chunk.length > room) {
      chunks.push(chunk.subarray(0, room));
      return { body: Buffer.concat(chunks), truncated: true };
    }
    chunks.push(chunk);
    length += chunk.length;
  }
  return { body: Buffer.concat(chunks), truncated: false };
}

/**
 * Decodes one content coding, although none was requested. The limit applies to the decoded bytes.
 * @throws {bad_response} when the coding is unknown, one of several, or broken
 */
export async function decodeBounded(kept: KeptBody, encoding: string, maxBytes: number): Promise<KeptBody> {
  const coding = encoding.trim().toLowerCase();
  if (coding === "" || coding === "identity" || kept.body.length === 0) return kept;
  const flush = kept.truncated ? { finishFlush: constants.Z_SYNC_FLUSH } : {};
  const inflate =
    coding === "gzip" || coding === "x-gzip"
      ? createGunzip(flush)
      : coding === "deflate"
        ? createInflate(flush)
        : coding === "br"
          ? createBrotliDecompress(kept.truncated ? { finishFlush: constants.BROTLI_OPERATION_FLUSH } : {})
          : undefined;
  if (inflate === undefined)
    throw new OutgoingError("bad_response", undefined, "the answer has a content encoding that was not asked for");
  inflate.end(kept.body);
  try {
    const plain = await readBounded(inflate, maxBytes);
    return { body: plain.body, truncated: plain.truncated || kept.truncated };
  } catch (cause) {
    throw new OutgoingError("bad_response", cause, "the answer's content encoding is broken");
  }
}
