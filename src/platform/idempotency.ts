import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "./clock.ts";
import type { Sealer } from "./crypto/sealed.ts";
import type { Database, Effect } from "./db/types.ts";
import { errors } from "./errors.ts";
import type { Log } from "./log.ts";
import type { Random } from "./random.ts";

/** One key of one principal for one rpc (decisions 1.9). */
export interface IdempotencyScope {
  /** `user:…`, `api_key:…` */
  principal: string;
  orgUuid: string | null;
  /** `/atrium.…/Method` */
  rpc: string;
  key: string;
}

/** A key that is ours to use now. */
export interface IdempotencyClaim {
  /**
   * To be handed to the transaction that makes the effect (`Database.transaction(work, {effect})`): it spends the key in that very
   * transaction, and rolls it back when somebody else has taken the key over meanwhile.
   */
  effect: Effect;
  /** Stores the 2xx answer. Never rejects: the effect is done, so its caller must get the answer all the same. */
  finish(answer: Buffer): Promise<void>;
  /** Frees the key after a refusal; a key whose effect was committed stays spent. Never rejects. */
  abandon(): Promise<void>;
}

export interface IdempotencyStore {
  /**
   * Claims the key, or gives the stored answer. Throws `idempotency_mismatch` (422) for another fingerprint, `conflict` (409) while
   * the first call runs, and `conflict` when its effect was committed but its answer was lost in a crash.
   */
  begin(scope: IdempotencyScope, fingerprint: Buffer): Promise<{ replay: Buffer } | { replay: undefined; claim: IdempotencyClaim }>;
  /** Removes records older than 24 h. @returns how many */
  purge(): Promise<number>;
}

interface Found {
  fingerprint: Buffer;
  state: "running" | "committed" | "done";
  lease_until: Date;
  answer: Buffer | null;
}

const keptMs = 24 * 3_600_000;
/** A call that has neither ended nor committed by then counts as dead, and the key may be used again. */
const leaseMs = 60_000;
/** A statement that ends a claim and finds no database is tried again this long after the try before, milliseconds. */
const laterMs = [500, 2_000, 8_000, 30_000];

const claimSql = `
  insert into idempotency_records as r (id, fingerprint, token, state, lease_until, expires_at)
  values ($1, $2, $3, 'running', $4, $5)
  on conflict (id) do update set
    fingerprint = excluded.fingerprint, token = excluded.token, state = 'running', lease_until = excluded.lease_until,
    expires_at = excluded.expires_at, answer = null
  where r.expires_at <= $6 or (r.state = 'running' and r.lease_until <= $6)
  returning 1 as claimed`;

/**
 * Records of Idempotency-Keys: `running` (leased), then `committed` in the transaction of the effect, then `done` with the sealed
 * answer. A crash before the commit frees the key when the lease ends; one after it leaves `committed`, and a retry is told so
 * instead of doubling the effect. Only an rpc that does not pass `effect` to its transaction has a window, between its commit and
 * `finish`, in which a crash would let a retry double it.
 */
export function createIdempotencyStore(deps: { database: Pick<Database, "prepared">; clock: Clock; random: Random; sealer: Sealer; log: Log; laterMs?: readonly number[] }): IdempotencyStore {
  const { database, clock, random, sealer, log } = deps;

  /** Waits for the first try alone. The later ones cannot harm: a claim's statements touch nothing but the claim. */
  async function quietly(statement: () => Promise<unknown>, what: string): Promise<void> {
    try {
      await statement();
    } catch (error) {
      void later(statement, error, what);
    }
  }

  async function later(statement: () => Promise<unknown>, first: unknown, what: string): Promise<void> {
    let failure = first;
    for (const wait of deps.laterMs ?? laterMs) {
      await sleep(wait, undefined, { ref: false });
      try {
        await statement();
        return;
      } catch (error) {
        failure = error;
      }
    }
    log.error({ err: failure }, what);
  }

  function claimOf(id: Buffer, token: string): IdempotencyClaim {
    return {
      effect: {
        async commit(tx) {
          const mine = await tx.query(
            "update idempotency_records set state = 'committed' where id = $1 and token = $2 and state <> 'done' returning 1 as mine", [id, token]);
          if (mine.length === 0) throw running();
        },
      },
      finish: (answer) => quietly(() => database.prepared("idempotency-finish",
        "update idempotency_records set state = 'done', answer = $3 where id = $1 and token = $2", [id, token, sealer.seal(answer, contextOf(id))]),
      "an answer could not be kept for its Idempotency-Key"),
      abandon: () => quietly(() => database.prepared("idempotency-abandon",
        "delete from idempotency_records where id = $1 and token = $2 and state = 'running'", [id, token]),
      "an Idempotency-Key could not be freed"),
    };
  }

  return {
    async begin(scope, fingerprint) {
      const id = createHash("sha256").update(JSON.stringify([scope.principal, scope.orgUuid, scope.rpc, scope.key])).digest();
      for (let attempt = 0; attempt < 3; attempt++) {
        const token = random.uuid();
        const now = clock.now();
        const claimed = await database.prepared("idempotency-claim", claimSql,
          [id, fingerprint, token, new Date(now + leaseMs), new Date(now + keptMs), new Date(now)]);
        if (claimed.length > 0) return { replay: undefined, claim: claimOf(id, token) };
        const [found] = await database.prepared<Found>("idempotency-find",
          "select fingerprint, state, lease_until, answer from idempotency_records where id = $1", [id]);
        if (found === undefined) continue; // freed between the two statements
        if (!found.fingerprint.equals(fingerprint)) throw errors.idempotencyMismatch();
        if (found.answer !== null) return { replay: sealer.open(found.answer, contextOf(id)) };
        if (found.state === "committed" && found.lease_until.getTime() <= now) throw lost();
        throw running();
      }
      throw running();
    },
    async purge() {
      const gone = await database.prepared("idempotency-purge",
        "delete from idempotency_records where expires_at <= $1 returning 1 as one", [new Date(clock.now())]);
      return gone.length;
    },
  };
}

const contextOf = (id: Buffer): string => `idempotency:${id.toString("base64url")}`;
const running = () => errors.conflict({ message: "A request with this Idempotency-Key is still running; try again in a moment.", retryAfter: 1 });
const lost = () => errors.conflict({
  message: "The request with this Idempotency-Key took effect, but its answer was lost in a crash; read the resource instead of trying again.",
});
