import { hash, timingSafeEqual } from "node:crypto";
import type { Random } from "../random.ts";

/** An opaque token and its stored hash. */
export interface OpaqueToken {
  /** base64url without padding; shown once. */
  token: string;
  /** SHA-256 of the token's text, which the database stores. */
  hash: Buffer;
}

/** Returns a new token of `bytes` random bytes (default 32, 256 bits). */
export function newOpaqueToken(random: Pick<Random, "bytes">, bytes = 32): OpaqueToken {
  const token = random.bytes(bytes).toString("base64url");
  return { token, hash: hashToken(token) };
}

/** Returns the SHA-256 of a token's text. For secrets of high entropy only; passwords and short codes need more. */
export function hashToken(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

/** Compares in constant time. Lengths are not secret. */
export function constantTimeEqual(a: Buffer | string, b: Buffer | string): boolean {
  const left = typeof a === "string" ? Buffer.from(a, "utf8") : a;
  const right = typeof b === "string" ? Buffer.from(b, "utf8") : b;
  return left.length === right.length && timingSafeEqual(left, right);
}
