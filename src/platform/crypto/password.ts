import { availableParallelism } from "node:os";
import { systemRandom } from "../random.ts";
import { limitKey } from "../outgoing/address.ts";
import type { Random } from "../random.ts";
import { createHashPool } from "./password-pool.ts";
import type { HashReply, PasswordCost } from "./password-pool.ts";

/** OWASP's recommendation for argon2id: 19 MiB, two passes, one lane. */
export const defaultPasswordCost: PasswordCost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** What a check of a password found. */
export interface PasswordCheck {
  ok: boolean;
  /** The password is right and its hash weaker than configured: hash it anew and store that. */
  rehash: boolean;
}

/**
 * Hashes and checks passwords off the event loop, bounded in number. `address` is the client's, and empty for the
 * service itself: passwords that wait are taken in turn over the addresses they came from, IPv6 by /64.
 */
export interface PasswordHasher {
  /** PHC string of argon2id. 503 `unavailable` when too many wait. */
  hash(password: string, address?: string): Promise<string>;
  /**
   * Checks a password against a stored hash. Null, for somebody unknown or without password, costs the same
   * and is never right. 503 `unavailable` when too many wait; a stored hash that cannot be read throws.
   */
  verify(hash: string | null, password: string, address?: string): Promise<PasswordCheck>;
  /** Finishes what runs, refuses what waits, ends the helper process. */
  close(): Promise<void>;
}

export interface PasswordHasherOptions {
  /** Hashes at once. Default: one for each core but one, which is the event loop's. */
  concurrency?: number;
  /** Hashes that may wait, as milliseconds of work. Default 10 s. */
  queueMs?: number;
  /** Most hashes that wait, however quick they are. */
  mostWaiting?: number;
  /** Cost of new hashes; stored ones below it are due for a rehash. */
  cost?: PasswordCost;
  /** Niceness of the helper process. Default 10. */
  niceness?: number;
  random?: Pick<Random, "bytes">;
}

/** Makes a hasher with a helper process of its own. Passwords are compared in NFC (RFC 8265), never truncated. */
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
      const reply = checked(await pool.run({ password: password.normalize("NFC"), cost }, limitKey(address)));
      if (!("digest" in reply)) throw new Error("the password helper gave no hash");
      return reply.digest;
    },
    async verify(hash, password, address = "") {
      const reply = checked(
        await pool.run({ password: password.normalize("NFC"), digest: hash ?? dummy }, limitKey(address)),
      );
      const ok = hash !== null && "ok" in reply && reply.ok;
      return { ok, rehash: ok && isWeaker(hash, cost) };
    },
    close: () => pool.close(),
  };
}

function checked(reply: HashReply): HashReply {
  if ("error" in reply) throw new Error(`the password helper failed: ${reply.error}`);
  return reply;
}

/** A hash of no password: a random salt and a random result, so it costs a verification and never matches. */
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
