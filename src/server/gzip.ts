import { gzipSync } from "node:zlib";
import { compressionGzip } from "@connectrpc/connect-node";

/** Up to this size it takes less processor time to compress a message than to hand it to another thread. */
const COMPRESS_HERE_BYTES = 16 * 1024;

/** Messages with gzip, as connect-node has it, but small ones are compressed without leaving the thread. */
export const gzipMessages: typeof compressionGzip = {
  ...compressionGzip,
  compress: (bytes) =>
    bytes.length <= COMPRESS_HERE_BYTES ? Promise.resolve(gzipSync(bytes)) : compressionGzip.compress(bytes),
};
