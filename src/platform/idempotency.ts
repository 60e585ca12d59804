import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "./clock.ts";
import type { Sealer } from "./crypto/sealed.ts";
import { isGone, mapFailure } from "./db/index.ts";
import type { OpenDatabase } from "./db/index.ts";
import type { Database, Effect, HeldTransaction } from "./db/types.ts";
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
   * To be handed to the transaction that makes the effect (`Database.transaction(work, {effect})`): it waits for the
   * answer.
   */
  effect: Effect;
  /**
   * Stores the 2xx answer and commits the effect with it. Rejects when nothing was committed: with `conflict` where
   * somebody else has taken the key over meanwhile. Without a transaction that waits it never rejects: the effect is
   * done.
   */
  finish(answer: Buffer): Promise<void>;
  /** Rolls back what waits and frees the key after a refusal. Never rejects. */
  abandon(): Promise<void>;
}

export interface IdempotencyStore {
  /**
   * Claims the key, or gives the stored answer. Throws `idempotency_mismatch` (422) for another fingerprint, and
   * `conflict` (409) while the first call runs.
   */
  begin(
    scope: IdempotencyScope,
    fingerprint: Buffer,
  ): Promise<{ replay: Buffer } | { replay: undefined; claim: IdempotencyClaim }>;
  /** Removes records older than 24 h, a batch of them. @returns how many */
  purge(): Promise<number>;
}

interface Found {
  fingerprint: Buffer;
  state: "running" | "committed" | "done";
  answer: Buffer | null;
}

const finishSql =
  "update idempotency_records set state = 'done', answer = $3 where id = $1 and token = $2 returning 1 as mine";

const keptMs = 24 * 3_600_000;
const purgedAtOnce = 10_000;
/** A call that has not ended by then counts as dead even if its process lives, and the key may be used again. */
const leaseMs = 60_000;
/**
 * A process that was killed is looked for once more after this time, milliseconds: the database hears of its end a
 * moment late.
 */
const secondLookMs = 100;
/** A statement that ends a claim and finds no database is tried again this long after the try before, milliseconds. */
const laterMs = [500, 2_000, 8_000, 30_000];

const claimSql = `
  insert into idempotency_records as r (id, fingerprint, token, state, lease_until, expires_at, holder)
  values ($1, $2, $3, 'running', $4, $5, $7)
  on conflict (id) do update set
    fingerprint = excluded.fingerprint, token = excluded.token, state = 'running', lease_until = excluded.lease_until,
    expires_at = excluded.expires_at, answer = null, holder = excluded.holder
  where r.expires_at <= $6 or (r.state = 'running' and case when r.lease_until <= $6 then true else ${isGone("r.holder")} end)
  returning 1 as claimed`;

/**
 * Records of Idempotency-Keys: `running` for as long as the database connection of the process that runs the call, then
 * `done` with the sealed answer, in the transaction of the effect. So a process that dies leaves either the effect and
 * its answer or neither, and the retry is answered at once, by any instance. Only an rpc that does not pass `effect` to
 * its transaction has a window, between its commit and `finish`, in which a crash would let a retry double it.
 */
export function createIdempotencyStore(deps: {
  database: Pick<Database, "prepared"> & Pick<OpenDatabase, "holder">;
  clock: Clock;
  random: Random;
  sealer: Sealer;
  log: Log;
  laterMs?: readonly number[];
}): IdempotencyStore {
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

  /** Commits an effect together with the answer, unless the key is somebody else's by now. */
  async function commitWith(waiting: HeldTransaction, params: readonly unknown[]): Promise<void> {
    try {
      if ((await waiting.query(finishSql, params)).length === 0) throw running();
    } catch (error) {
      await waiting.rollback();
      throw mapFailure(error);
    }
    await waiting.commit();
  }

  function claimOf(id: Buffer, token: string): IdempotencyClaim {
    let waiting: HeldTransaction | undefined;
    return {
      effect: {
        hold(transaction) {
          if (waiting !== undefined) throw new Error("a request with an Idempotency-Key has one effect");
          waiting = transaction;
          return true;
        },
      },
      finish(answer) {
        const params = [id, token, sealer.seal(answer, contextOf(id))];
        if (waiting !== undefined) return commitWith(waiting, params);
        return quietly(
          () => database.prepared("idempotency-finish", finishSql, params),
          "an answer could not be kept for its Idempotency-Key",
        );
      },
      async abandon() {
        await waiting?.rollback();
        await quietly(
          () =>
            database.prepared(
              "idempotency-abandon",
              "delete from idempotency_records where id = $1 and token = $2 and state = 'running'",
              [id, token],
            ),
          "an Idempotency-Key could not be freed",
        );
      },
    };
  }

  return {
    async begin(scope, fingerprint) {
      const id = createHash("sha256")
        .update(JSON.stringify([scope.principal, scope.orgUuid, scope.rpc, scope.key]))
        .digest();
      const holder = await database.holder();
      for (let attempt = 0, looked = false; attempt < 4; attempt++) {
        const token = random.uuid();
        const now = clock.now();
        const claimed = await database.prepared("idempotency-claim", claimSql, [
          id,
          fingerprint,
          token,
          new Date(now + leaseMs),
          new Date(now + keptMs),
          new Date(now),
          holder,
        ]);
        if (claimed.length > 0) return { replay: undefined, claim: claimOf(id, token) };
        const [found] = await database.prepared<Found>(
          "idempotency-find",
          "select fingerprint, state, answer from idempotency_records where id = $1",
          [id],
        );
        if (found === undefined) continue; // freed between the two statements
        if (!found.fingerprint.equals(fingerprint)) throw errors.idempotencyMismatch();
        if (found.answer !== null) return { replay: sealer.open(found.answer, contextOf(id)) };
        // Left by a version that stored answers after the commit.
        if (found.state === "committed") throw lost();
        if (looked) throw running();
        looked = true;
        await sleep(secondLookMs);
      }
      throw running();
    },
    async purge() {
      const gone = await database.prepared(
        "idempotency-purge",
        `delete from idempotency_records where id in (
           select id from idempotency_records where expires_at <= $1 order by expires_at limit ${purgedAtOnce}
         ) returning 1 as one`,
        [new Date(clock.now())],
      );
      return gone.length;
    },
  };
}

const contextOf = (id: Buffer): string => `idempotency:${id.toString("base64url")}`;
const running = () =>
  errors.conflict({
    message: "A request with this Idempotency-Key is still running; try again in a moment.",
    retryAfter: 1,
  });
const lost = () =>
  errors.conflict({
    message:
      "The request with this Idempotency-Key took effect, but its answer was lost in a crash; read the resource instead of trying again.",
  });
