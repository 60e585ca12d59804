import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "./clock.ts";
import type { Sealer } from "./crypto/sealed.ts";
import { sealedColumn } from "./crypto/sealed-column.ts";
import { isReleased, isUnsent, mapFailure } from "./db/index.ts";
import { databaseTime, present, presentPlus } from "./db/time.ts";
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

/** A claimed key. */
export interface IdempotencyClaim {
  /**
   * Pass it to the transaction of the effect (`Database.transaction(work, {effect})`), which then waits for the
   * response before it commits.
   */
  effect: Effect;
  /**
   * Stores the 2xx response and commits the effect with it. Without a waiting transaction the effect is committed
   * already, and this never rejects.
   * @throws {conflict} when another request has taken over the key; nothing was committed.
   */
  finish(answer: Buffer): Promise<void>;
  /** Rolls back the waiting transaction and releases the key. Never rejects. */
  abandon(): Promise<void>;
}

export interface IdempotencyStore {
  /**
   * Claims the key, or returns the stored response as `replay`.
   * @throws {idempotency_mismatch} when the key was used with another fingerprint.
   * @throws {conflict} while the first call runs.
   */
  begin(
    scope: IdempotencyScope,
    fingerprint: Buffer,
  ): Promise<{ replay: Buffer } | { replay: undefined; claim: IdempotencyClaim }>;
  /** Deletes one batch of records older than 24 h. @returns their number */
  purge(): Promise<number>;
}

/** Stored responses. */
export const SEALED_ANSWERS = sealedColumn({
  table: "idempotency_records",
  column: "answer",
  key: { id: "bytea" },
  context: ({ id }) => contextOf(id as Buffer),
});

interface Found {
  fingerprint: Buffer;
  state: "running" | "committed" | "done";
  answer: Buffer | null;
}

const finishSql =
  "update idempotency_records set state = 'done', answer = $3 where id = $1 and token = $2 returning 1 as mine";

const RETENTION_MS = 24 * 3_600_000;
const PURGE_BATCH = 10_000;
/** After this time the call counts as lost, even if its process lives, and the key may be claimed again. */
const LEASE_MS = 60_000;
/**
 * Wait before the second check whether the first call's process is alive: the database notices its end with a delay.
 */
const RECHECK_MS = 100;
/** Waits before the retries of a statement that ends a claim while the database is unavailable. */
const RETRY_DELAYS_MS = [500, 2_000, 8_000, 30_000];
/** How long a response waits for the first attempt: a silent database has taken up the time of the request by then. */
const FIRST_ATTEMPT_MS = 1_000;

const abandonSql =
  "delete from idempotency_records where id = $1 and token = $2 and state = 'running' returning 1 as one";

const claimSql = `
  insert into idempotency_records as r (id, fingerprint, token, state, lease_until, expires_at, holder)
  values ($1, $2, $3, 'running', ${presentPlus("$6", "$4")}, ${presentPlus("$6", "$5")}, $7)
  on conflict (id) do update set
    fingerprint = excluded.fingerprint, token = excluded.token, state = 'running', lease_until = excluded.lease_until,
    expires_at = excluded.expires_at, answer = null, holder = excluded.holder
  where r.expires_at <= ${present("$6")}
    or (r.state = 'running'
      and case when r.lease_until <= ${present("$6")} then true else ${isReleased("r.holder")} end)
  returning 1 as claimed`;

/**
 * Records of Idempotency-Keys. A record is `running` while the process that runs the call has its database connection,
 * then `done` with the encrypted response, in the transaction of the effect. A process that dies leaves either the
 * effect with its response or neither, so any instance can respond to the retry at once. Only an rpc that does not pass
 * `effect` to its transaction has a window, between its commit and `finish`, in which a crash lets a retry repeat it.
 */
export function createIdempotencyStore(deps: {
  database: Pick<Database, "prepared"> & Pick<OpenDatabase, "livenessId">;
  clock: Clock;
  random: Random;
  sealer: Sealer;
  log: Log;
  retryDelaysMs?: readonly number[];
}): IdempotencyStore {
  const { database, clock, random, sealer, log } = deps;

  /** Waits for the first attempt only. Late retries are harmless: these statements change nothing but the claim. */
  async function runWithRetries(statement: () => Promise<unknown>, what: string): Promise<void> {
    const first = statement().catch((error: unknown) => void retryLater(statement, error, what));
    await Promise.race([first, sleep(FIRST_ATTEMPT_MS, undefined, { ref: false })]);
  }

  const abandonClaim = (id: Buffer, token: string) => database.prepared("idempotency-abandon", abandonSql, [id, token]);

  /** Releases a claim whose response was lost. It may still be under way, so it is looked for until it shows. */
  async function releaseLost(id: Buffer, token: string): Promise<void> {
    for (const wait of [0, ...(deps.retryDelaysMs ?? RETRY_DELAYS_MS)]) {
      await sleep(wait, undefined, { ref: false });
      const released = await abandonClaim(id, token).catch(() => []);
      if (released.length > 0) return;
    }
  }

  async function retryLater(statement: () => Promise<unknown>, first: unknown, what: string): Promise<void> {
    let failure = first;
    for (const wait of deps.retryDelaysMs ?? RETRY_DELAYS_MS) {
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

  /** Commits the effect together with the response, unless another request has taken over the key. */
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
        return runWithRetries(
          () => database.prepared("idempotency-finish", finishSql, params),
          "The response of an Idempotency-Key could not be stored",
        );
      },
      async abandon() {
        await waiting?.rollback();
        await runWithRetries(() => abandonClaim(id, token), "An Idempotency-Key could not be released");
      },
    };
  }

  return {
    async begin(scope, fingerprint) {
      const id = createHash("sha256")
        .update(JSON.stringify([scope.principal, scope.orgUuid, scope.rpc, scope.key]))
        .digest();
      const livenessId = await database.livenessId();
      for (let attempt = 0, checked = false; attempt < 4; attempt++) {
        const token = random.uuid();
        const params = [id, fingerprint, token, LEASE_MS, RETENTION_MS, databaseTime(clock), livenessId];
        const claimed = await database.prepared("idempotency-claim", claimSql, params).catch((error: unknown) => {
          if (!isUnsent(error)) void releaseLost(id, token);
          throw error;
        });
        if (claimed.length > 0) return { replay: undefined, claim: claimOf(id, token) };
        const [found] = await database.prepared<Found>(
          "idempotency-find",
          "select fingerprint, state, answer from idempotency_records where id = $1",
          [id],
        );
        if (found === undefined) continue; // released between the two statements
        if (!found.fingerprint.equals(fingerprint)) throw errors.idempotencyMismatch();
        if (found.answer !== null) return { replay: sealer.open(found.answer, contextOf(id)) };
        // Written by a version that stored responses after the commit.
        if (found.state === "committed") throw lost();
        if (checked) throw running();
        checked = true;
        await sleep(RECHECK_MS);
      }
      throw running();
    },
    async purge() {
      const gone = await database.prepared(
        "idempotency-purge",
        // Locked, so that a record stays whose key a request claims meanwhile.
        `delete from idempotency_records where id = any(array(
           select id from idempotency_records
           where expires_at <= ${present("$1")} order by expires_at limit ${PURGE_BATCH} for update skip locked
         )) returning 1 as one`,
        [databaseTime(clock)],
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
      "The request with this Idempotency-Key took effect, but its answer was lost in a crash; " +
      "read the resource instead of trying again.",
  });
