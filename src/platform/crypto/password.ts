import { availableParallelism } from "node:os";
import { systemRandom } from "../random.ts";
import { limitKey } from "../outgoing/address.ts";
import type { Random } from "../random.ts";
import { createHashPool } from "./password-pool.ts";
import type { PasswordCost } from "./password-pool.ts";

/** OWASP's recommendation for argon2id: 19 MiB, two passes, one lane. */
export const defaultPasswordCost: PasswordCost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Result of verifying a password. */
export interface PasswordCheck {
  ok: boolean;
  /** The password is right and its hash weaker than configured: store a new hash. */
  rehash: boolean;
}

/**
 * Hashes and verifies passwords off the event loop, with bounded concurrency. `address` is the client's, empty for the
 * service itself: waiting jobs are taken round-robin over the addresses, IPv6 by /64.
 */
export interface PasswordHasher {
  /** Returns a PHC string of argon2id. @throws {unavailable} when too many jobs wait */
  hash(password: string, address?: string): Promise<string>;
  /**
   * Verifies a password against a stored hash. Null, for an unknown person or one without a password, takes the same
   * time and never succeeds.
   * @throws {unavailable} when too many jobs wait
   * @throws {Error} when the stored hash cannot be parsed
   */
  verify(hash: string | null, password: string, address?: string): Promise<PasswordCheck>;
  /** Lets running jobs finish, rejects waiting ones and ends the helper process. */
  close(): Promise<void>;
}

export interface PasswordHasherOptions {
  /** Maximum number of concurrent jobs. Default: the number of cores minus one for the event loop. */
  concurrency?: number;
  /** Maximum amount of waiting work, milliseconds. Default 10 s. */
  queueMs?: number;
  /** Maximum number of waiting jobs. */
  mostWaiting?: number;
  /** Cost of new hashes; stored hashes below it are to be replaced. */
  cost?: PasswordCost | undefined;
  /** Niceness of the helper process. Default 10. */
  niceness?: number;
  random?: Pick<Random, "bytes">;
}

/** Creates a hasher with its own helper process. Passwords are compared in NFC (RFC 8265) and never truncated. */
export function createPasswordHasher(options: PasswordHasherOptions = {}): PasswordHasher {
  const {
    concurrency = Math.max(1, availableParallelism() - 1),
    queueMs = 10_000,
    mostWaiting,
    cost = defaultPasswordCost,
    niceness = 10,
    random = systemRandom,
  } = options;
  const pool = createHashPool({
    concurrency,
    queueMs,
    niceness,
    ...(mostWaiting === undefined ? {} : { mostWaiting }),
  });
  const dummy = dummyHash(cost, random);
  return {
    async hash(password, address = "") {
      const result = await pool.run({ password: password.normalize("NFC"), cost }, limitKey(address));
      if (!("digest" in result)) throw new Error("the password helper returned no hash");
      return result.digest;
    },
    async verify(hash, password, address = "") {
      const result = await pool.run({ password: password.normalize("NFC"), digest: hash ?? dummy }, limitKey(address));
      const ok = hash !== null && "ok" in result && result.ok;
      return { ok, rehash: ok && isWeaker(hash, cost) };
    },
    close: () => pool.close(),
  };
}

/** Returns a random salt and hash: verifying against it takes the usual time and never succeeds. */
function dummyHash({ memoryCost, timeCost, parallelism }: PasswordCost, random: Pick<Random, "bytes">): string {
  const part = (length: number): string => random.bytes(length).toString("base64").replaceAll("=", "");
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${part(16)}$${part(32)}`;
}

function isWeaker(hash: string, cost: PasswordCost): boolean {
  const [, type, version, parameters = ""] = hash.split("$");
  if (type !== "argon2id" || version !== "v=19") return true;
  const given = new Map(parameters.split(",").map((pair) => pair.split("=", 2) as [string, string]));
  const below = (name: string, wanted: number): boolean => !(Number(given.get(name)) >= wanted);
  return below("m", cost.memoryCost) || below("t", cost.timeCost) || below("p", cost.parallelism);
}
