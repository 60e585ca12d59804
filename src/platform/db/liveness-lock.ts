import { randomBytes } from "node:crypto";
import type { Pool, PoolClient } from "pg";
import type { Log } from "../log.ts";
import { createAppPool } from "./connection.ts";
import { isDemoted } from "./demotion.ts";
import { mapFailure } from "./failure.ts";
import { withoutTransactionTimeout } from "./session-settings.ts";

/** Interval of the queries that check the connection, milliseconds. */
const CHECK_MS = 5_000;

/** `application_name` of the connection: it is idle in a transaction for the lifetime of the process. */
const APPLICATION_NAME = "atrium-holder";

/** An advisory lock that this process holds while its database connection lives, so that others can detect its end. */
export interface LivenessLock {
  /** Returns the id of the current lock, taking it if necessary. See {@link isReleased}. */
  id(): Promise<string>;
  close(): Promise<void>;
}

/**
 * Returns SQL that is true when the process that held the lock `id` has ended or lost its connection. The check takes
 * the lock in shared mode, so that concurrent checks do not block each other.
 */
export const isReleased = (id: string): string => `pg_try_advisory_xact_lock_shared(${id})`;

/**
 * Creates a lock with a connection of its own, held in a transaction that never ends. PostgreSQL releases the lock with
 * the connection, whether the process was killed or the network failed; the transaction keeps it on one server
 * connection behind a pooler too. The transaction reads nothing, so it delays neither vacuum nor index builds.
 */
export function createLivenessLock(url: string, log: Log): LivenessLock {
  const pool: Pool = createAppPool(url, 1, log);
  let current: Promise<string> | undefined;
  let client: PoolClient | undefined;
  let timer: NodeJS.Timeout | undefined;

  /** Discards a lost connection; the next call of `id` opens another, under another id. */
  function discard(lost: PoolClient): void {
    if (client !== lost) return;
    clearInterval(timer);
    client = undefined;
    current = undefined;
    lost.release(true);
  }

  /** Others look for the lock on the server that takes writes. */
  async function check(taken: PoolClient): Promise<void> {
    try {
      await taken.query("select 1");
      if (isDemoted(taken)) discard(taken);
    } catch {
      discard(taken);
    }
  }

  async function acquire(): Promise<string> {
    const taken = await pool.connect();
    client = taken;
    taken.once("end", () => discard(taken));
    try {
      await taken.query("begin");
      await taken.query("set local idle_in_transaction_session_timeout = 0");
      await taken.query(withoutTransactionTimeout("this transaction"));
      await taken.query(`set local application_name = '${APPLICATION_NAME}'`);
      // A server that is cut off from this process ends the connection after about ten seconds.
      await taken.query("set local tcp_keepalives_idle = 4");
      await taken.query("set local tcp_keepalives_interval = 2");
      await taken.query("set local tcp_keepalives_count = 3");
      const id = randomBytes(8).readBigInt64BE().toString();
      await taken.query("select pg_advisory_xact_lock($1)", [id]);
      timer = setInterval(() => void check(taken), CHECK_MS).unref();
      return id;
    } catch (error) {
      discard(taken);
      throw mapFailure(error);
    }
  }

  return {
    id() {
      if (current !== undefined) return current;
      const acquired = acquire().catch((error: unknown) => {
        if (current === acquired) current = undefined;
        throw mapFailure(error);
      });
      current = acquired;
      return acquired;
    },
    async close() {
      if (client !== undefined) discard(client);
      await pool.end();
    },
  };
}
