import type { DescMessage, Message } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { errors } from "../platform/errors.ts";
import type { IdempotencyScope, IdempotencyStore } from "../platform/idempotency.ts";
import type { Call } from "./call.ts";
import { fingerprint } from "./fingerprint.ts";
import type { Policy } from "./policy.ts";

/**
 * Returns the scope of a call that carries an `Idempotency-Key`, or undefined.
 * @throws {bad_request} when the key is malformed
 */
export function idempotencyScope(policy: Policy, call: Call): IdempotencyScope | undefined {
  if (!policy.idempotent || call.caller === undefined) return undefined;
  const key = call.header("idempotency-key");
  if (key === undefined) return undefined;
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw errors.badRequest({ message: "Idempotency-Key must be 1 to 255 visible ASCII characters." });
  const { principal, orgUuid } = call.caller;
  return { principal: `${principal.type}:${principal.id}`, orgUuid, rpc: policy.path, key };
}

/**
 * Executes a call once per scope: replays the stored response of an earlier call, or stores the response of this one.
 * A refused call stores nothing and frees the key.
 */
export async function runOnce(
  store: Pick<IdempotencyStore, "begin">,
  scope: IdempotencyScope,
  { method }: Policy,
  call: Call,
  message: Message,
  header: Headers,
  execute: () => Promise<Message>,
): Promise<Message> {
  const begun = await store.begin(scope, fingerprint(method.input, message));
  const isRest = call.protocol === "rest";
  if (begun.replay !== undefined) return unpackResponse(method.output, begun.replay, header, isRest);
  const { claim } = begun;
  // The use case passes its caller to the transaction of the effect, which marks the key as used.
  if (call.caller !== undefined) call.caller = { ...call.caller, effect: claim.effect };
  try {
    const response = create(method.output, await execute());
    await claim.finish(packResponse(method.output, response, header, isRest));
    return response;
  } catch (error) {
    await claim.abandon();
    throw error;
  }
}

const CONTENT_TYPE = "content-type";

/**
 * Packs a response with the headers its handler set: four bytes of length, the headers as JSON, the message. Of those
 * about the body, only the content type that a handler chose over REST is kept: the others belong to the protocol.
 */
function packResponse(desc: DescMessage, message: Message, header: Headers, isRest: boolean): Buffer {
  const kept = [...header].filter(([name]) => !name.startsWith("content-") || (isRest && name === CONTENT_TYPE));
  const head = Buffer.from(JSON.stringify(kept));
  const size = Buffer.alloc(4);
  size.writeUInt32BE(head.length);
  return Buffer.concat([size, head, toBinary(desc, message)]);
}

/** Returns the message of {@link packResponse} and sets its headers on `header`. */
function unpackResponse(desc: DescMessage, packed: Buffer, header: Headers, isRest: boolean): Message {
  const end = 4 + packed.readUInt32BE(0);
  for (const [name, value] of JSON.parse(packed.toString("utf8", 4, end)) as [string, string][])
    if (isRest || name !== CONTENT_TYPE) header.set(name, value);
  header.set("idempotent-replayed", "true");
  return fromBinary(desc, packed.subarray(end));
}
