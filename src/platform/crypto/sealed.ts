import { createCipheriv, createDecipheriv, createSecretKey } from "node:crypto";
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
    seal(plain, context) {
      const nonce = random.bytes(nonceLength);
      const cipher = createCipheriv("aes-256-gcm", secret, nonce, { authTagLength: tagLength });
      cipher.setAAD(additionalData(context));
      const text = typeof plain === "string" ? cipher.update(plain, "utf8") : cipher.update(plain);
      return Buffer.concat([Buffer.of(version), nonce, text, cipher.final(), cipher.getAuthTag()]);
    },
    open(box, context) {
      if (box.length < overhead || box[0] !== version) throw new Error("the sealed box has an unknown version");
      const nonce = box.subarray(1, 1 + nonceLength);
      const decipher = createDecipheriv("aes-256-gcm", secret, nonce, { authTagLength: tagLength });
      decipher.setAAD(additionalData(context));
      decipher.setAuthTag(box.subarray(box.length - tagLength));
      const text = decipher.update(box.subarray(1 + nonceLength, box.length - tagLength));
      try {
        return Buffer.concat([text, decipher.final()]);
      } catch (cause) {
        if (before !== undefined) return before.open(box, context);
        throw new Error("the sealed box does not open: wrong key, wrong context or tampering", { cause });
      }
    },
  };
}

/** Includes the version, so that a box of a later format does not open as this one. */
function additionalData(context: string): Buffer {
  return Buffer.concat([Buffer.of(version), Buffer.from(context, "utf8")]);
}
