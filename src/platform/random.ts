import { randomBytes, randomInt, randomUUID } from "node:crypto";

/** The only source of randomness. */
export interface Random {
  /** Cryptographically strong random bytes. */
  bytes(length: number): Buffer;
  /** A version 4 UUID, lower case. */
  uuid(): string;
  /** An unbiased integer, `min` inclusive, `max` exclusive. */
  int(min: number, max: number): number;
}

/** The operating system's generator. */
export const systemRandom: Random = { bytes: randomBytes, uuid: randomUUID, int: randomInt };
