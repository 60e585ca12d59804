import { randomBytes } from "node:crypto";
import type { Pool, PoolClient } from "pg";
import type { Log } from "../log.ts";
import { appPool } from "./connection.ts";
import { mapFailure } from "./failure.ts";

/** How often the connection is asked whether it lives, milliseconds. */
const askMs = 5_000;

/** What `pg_stat_activity` calls the connection: it is idle in a transaction for as long as the process lives. */
const holderName = "atrium-holder";

/** Names this process to others for as long as its connection to the database lives. */
export interface Holder {
  /** The present id: others find {@link isGone} of it true as soon as the connection has ended. Connects if need be. */
  id(): Promise<string>;
  close(): Promise<void>;
}

/**
 * SQL: whether the holder of this id has gone, by its lock. Shared, so that those who ask do not get in each other's
 * way.
 */
export const isGone = (id: string): string => `pg_try_advisory_xact_lock_shared(${id})`;

/**
 * A connection of its own that holds an advisory lock in a transaction without end. The lock goes with the connection,
 * whether the process was killed or the network was cut; a transaction keeps it on one server connection behind a
 * pooler too. It reads nothing, so it holds back neither vacuum nor the building of indexes.
 */
export function createHolder(url: string, log: Log): Holder {
  const pool: Pool = appPool(url, 1, log);
  let present: Promise<string> | undefined;
  let client: PoolClient | undefined;
  let timer: NodeJS.Timeout | undefined;

  /** Forgets a connection that is over; the next who asks gets another, under another id. */
  function lose(lost: PoolClient): void {
    if (client !== lost) return;
    clearInterval(timer);
    client = undefined;
    present = undefined;
    lost.release(true);
  }

  async function take(): Promise<string> {
    const taken = await pool.connect();
    client = taken;
    taken.once("end", () => lose(taken));
    try {
      await taken.query("begin");
      await taken.query("set local idle_in_transaction_session_timeout = 0");
      await taken.query(`set local application_name = '${holderName}'`);
      // A server that is cut off from this process ends the connection after some ten seconds.
      await taken.query("set local tcp_keepalives_idle = 4");
      await taken.query("set local tcp_keepalives_interval = 2");
      await taken.query("set local tcp_keepalives_count = 3");
      const id = randomBytes(8).readBigInt64BE().toString();
      await taken.query("select pg_advisory_xact_lock($1)", [id]);
      timer = setInterval(() => void taken.query("select 1").catch(() => lose(taken)), askMs).unref();
      return id;
    } catch (error) {
      lose(taken);
      throw mapFailure(error);
    }
  }

  return {
    id() {
      if (present !== undefined) return present;
      const taking = take().catch((error: unknown) => {
        if (present === taking) present = undefined;
        throw mapFailure(error);
      });
      present = taking;
      return taking;
    },
    async close() {
      if (client !== undefined) lose(client);
      await pool.end();
    },
  };
}
