import { createHash } from "node:crypto";
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { errors } from "../platform/errors.ts";
import type { IdempotencyScope } from "../platform/idempotency.ts";
import type { Call } from "./call.ts";
import type { Policy } from "./policy.ts";

/** The scope of a call that asks for idempotency, or undefined. Throws `bad_request` for a malformed key. */
export function idempotencyScope(policy: Policy, call: Call): IdempotencyScope | undefined {
  if (!policy.idempotent || call.caller === undefined) return undefined;
  const key = call.header("idempotency-key");
  if (key === undefined) return undefined;
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw errors.badRequest({ message: "Idempotency-Key must be 1 to 255 visible ASCII characters." });
  const { principal, orgUuid } = call.caller;
  return { principal: `${principal.type}:${principal.id}`, orgUuid, rpc: policy.path, key };
}

/** SHA-256 of the request as it was understood, whatever protocol carried it. */
export function fingerprint(desc: DescMessage, message: Message): Buffer {
  return createHash("sha256")
    .update(toBinary(desc, message, { writeUnknownFields: false }))
    .digest();
}

/** An answer with the headers its handler set: four bytes of length, the headers as JSON, the message. */
export function packAnswer(desc: DescMessage, message: Message, header: Headers): Buffer {
  const head = Buffer.from(JSON.stringify([...header].filter(([name]) => !name.startsWith("content-"))));
  const size = Buffer.alloc(4);
  size.writeUInt32BE(head.length);
  return Buffer.concat([size, head, toBinary(desc, message)]);
}

/** The message of {@link packAnswer}; its headers are set on `header`. */
export function unpackAnswer(desc: DescMessage, answer: Buffer, header: Headers): Message {
  const end = 4 + answer.readUInt32BE(0);
  for (const [name, value] of JSON.parse(answer.toString("utf8", 4, end)) as [string, string][])
    header.set(name, value);
  header.set("idempotent-replayed", "true");
  return fromBinary(desc, answer.subarray(end));
}
