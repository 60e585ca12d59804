import type { DescMessage } from "@bufbuild/protobuf";
import { mustBeFilled, presentLists } from "../platform/validation.ts";
import { readMessage } from "../transcoding/index.ts";

/**
 * Returns a text decoder for connect's JSON options that refuses the same JSON as REST, with the same violations
 * (decisions 1.8, 15.2). Connect decodes every JSON message with it, after the gate and after decompression.
 */
export function strictDecoder(input: DescMessage): { textDecoder: { decode(bytes: Uint8Array): string } } {
  const limits = {
    depth: 32,
    violations: 20,
    present: presentLists(input),
    filled: input.fields.filter(mustBeFilled),
  };
  return {
    textDecoder: {
      decode(bytes) {
        readMessage(input, bytes, limits);
        return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
      },
    },
  };
}
