import type { DescMessage } from "@bufbuild/protobuf";
import { mustBeFilled } from "../platform/validation.ts";
import { readMessage } from "../transcoding/index.ts";

/**
 * A text decoder for connect's JSON options: connect decodes each message with
 * it, after the gate and after inflation, in every protocol that carries JSON.
 * It refuses what REST refuses (decisions 1.8, 15.2) with the same violations.
 */
export function strictDecoder(input: DescMessage): { textDecoder: { decode(bytes: Uint8Array): string } } {
  const limits = { depth: 32, violations: 20, filled: input.fields.filter(mustBeFilled) };
  return {
    textDecoder: {
      decode(bytes) {
        readMessage(input, bytes, limits);
        return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
      },
    },
  };
}
