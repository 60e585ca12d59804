import { createCipheriv, createDecipheriv, createSecretKey } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { systemRandom } from "../random.ts";
import type { Random } from "../random.ts";

const version = 1;
const nonceLength = 12;
const tagLength = 16;
const overhead = 1 + nonceLength + tagLength;

/** Authenticated encryption under one key. */
export interface Sealer {
  /**
   * Encrypts `plain`. `context` is bound as additional data and must be given again to open:
   * name the row and column (`"totp:<factor id>"`), so that a box copied to another row does not open.
   */
  seal(plain: Buffer | string, context: string): Buffer;
  /** Returns the plain bytes. @throws {Error} when the box was changed or sealed with another key or context */
  open(box: Buffer, context: string): Buffer;
}

/**
 * AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce.
 * A box is: version byte, nonce (12), cipher text, tag (16).
 * `previous` is only used to open boxes (decisions 17.10).
 * @throws {RangeError} when `key` does not have 32 bytes
 */
export function createSealer(key: Buffer, random: Pick<Random, "bytes"> = systemRandom, previous?: Buffer): Sealer {
  if (key.length !== 32) throw new RangeError("a sealing key must have 32 bytes");
  // With a key object createCipheriv is cheaper than with a buffer.
  const secret = createSecretKey(key);
  const before = previous === undefined ? undefined : createSealer(previous, random);
  return {
    seal: (plain, context) => sealWith(secret, plain, context, random),
    open(box, context) {
      try {
        return openWith(secret, box, context);
      } catch (error) {
        if (before !== undefined && error instanceof UnopenedBoxError) return before.open(box, context);
        throw error;
      }
    },
  };
}

/** The box was changed, or sealed with another key or context. */
class UnopenedBoxError extends Error {}

/** As {@link Sealer.seal}, with a key that the caller keeps, and can overwrite when it is a buffer. */
export function sealWith(
  key: Buffer | KeyObject,
  plain: Buffer | string,
  context: string,
  random: Pick<Random, "bytes">,
): Buffer {
  const nonce = random.bytes(nonceLength);
  const cipher = withoutStackTraces(() => createCipheriv("aes-256-gcm", key, nonce, { authTagLength: tagLength }));
  cipher.setAAD(additionalData(context));
  const text = typeof plain === "string" ? cipher.update(plain, "utf8") : cipher.update(plain);
  return Buffer.concat([Buffer.of(version), nonce, text, cipher.final(), cipher.getAuthTag()]);
}

/** As {@link Sealer.open}. The returned buffer is the only copy of the plain bytes: the caller can overwrite it. */
export function openWith(key: Buffer | KeyObject, box: Buffer, context: string): Buffer {
  if (box.length < overhead || box[0] !== version) throw new Error("the sealed box has an unknown version");
  const nonce = box.subarray(1, 1 + nonceLength);
  const decipher = withoutStackTraces(() => createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: tagLength }));
  decipher.setAAD(additionalData(context));
  decipher.setAuthTag(box.subarray(box.length - tagLength));
  // GCM is a stream mode: `update` returns every byte, and `final` only verifies the tag.
  const plain = decipher.update(box.subarray(1 + nonceLength, box.length - tagLength));
  try {
    decipher.final();
  } catch (cause) {
    plain.fill(0);
    throw new UnopenedBoxError("the sealed box does not open: wrong key, wrong context or tampering", { cause });
  }
  return plain;
}

/**
 * For a key in a buffer, Node throws and catches two errors inside `createCipheriv` to learn that it is not an object;
 * their stack traces cost three times as much as the encryption of a short text. A key object would avoid that, but
 * its copy of the key stays in memory until a garbage collection.
 */
function withoutStackTraces<T>(make: () => T): T {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/** Includes the version, so that a box of a later format does not open as this one. */
function additionalData(context: string): Buffer {
  return Buffer.concat([Buffer.of(version), Buffer.from(context, "utf8")]);
}
