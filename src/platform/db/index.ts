import { MikroORM } from "@mikro-orm/postgresql";
import type { EntitySchema } from "@mikro-orm/core";
import type { Pool } from "pg";
import { parseIntoClientConfig } from "pg-connection-string";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { createAppPool } from "./connection.ts";
import { connectionOf, PoolDialect } from "./dialect.ts";
import { createGuard } from "./guard.ts";
import type { Guard } from "./guard.ts";
import { mapFailure } from "./failure.ts";
import { createLivenessLock } from "./liveness-lock.ts";
import type { MigrationObject } from "./migrator.ts";
import { createPoolQuota, createRequestOwner, NO_OWNER } from "./pool-quota.ts";
import type { PoolQuota, RequestOwner } from "./pool-quota.ts";
import { createPrepared } from "./prepared.ts";
import { readReadiness } from "./readiness.ts";
import type { Readiness } from "./readiness.ts";
import { createTransaction, OUTBOX } from "./transaction.ts";
import type { Database } from "./types.ts";

export type * from "./types.ts";
export { OUTBOX };
export { connectionFailure } from "./connection.ts";
export { DatabaseStartError, isUnsent, mapFailure, violatedConstraint } from "./failure.ts";
export { defineConcurrentMigration, defineMigration, migrate } from "./migrator.ts";
export type { MigrationObject } from "./migrator.ts";
export { grantApp, grantRead } from "./grants.ts";
export { isReleased } from "./liveness-lock.ts";
export { createOutbox, MAX_EXPIRED_BATCH } from "./outbox.ts";
export type { ExpiredRow, Outbox, OutboxRow, TopicCounts } from "./outbox.ts";
export { boundedCount, totalOf } from "./total.ts";
export type { Total } from "./total.ts";
export { pageOf } from "./paging.ts";
export type { Page } from "./paging.ts";

/** Connections for authentication, separate so that no request delays that of another. */
const IDENTIFYING_POOL = 2;
/** Connections for the queries of open streams; one query serves many streams. */
const WATCHING_POOL = 2;

export interface DatabaseOptions {
  url: string;
  /** Every entity of every domain: schemas or classes made from them. */
  entities: readonly (EntitySchema | (abstract new (...args: never[]) => object))[];
  /** The migrations `ready` expects to have run. */
  migrations: readonly MigrationObject[];
  clock: Clock;
  log: Log;
  /** Connections for transactions and entities; default 10. */
  poolSize?: number;
  /** Connections for prepared statements, so that hot reads do not wait behind transactions; default 4. */
  preparedPoolSize?: number;
  /** Connections for background work; default 6. */
  backgroundPoolSize?: number;
  /** Turns misuse of the database into errors (see `Guard`), for development and tests. */
  guarded?: boolean;
}

/** Connections of a pool, and requests that wait for one. */
export interface PoolCounts {
  total: number;
  idle: number;
  waiting: number;
}

/** The database with its lifecycle, as the composition and the server use it. */
export interface OpenDatabase extends Database {
  /** Queries the database; resolves within 2 s, never rejects. */
  ready(): Promise<Readiness>;
  /**
   * Calls `listener` after each commit in this process that called `Tx.wake` with `name` (`OUTBOX`: that wrote outbox
   * rows). @returns a function that removes the listener
   */
  onWake(name: string, listener: () => void): () => void;
  /** Runs a request: however many statements it causes, half of each pool is left to other requesters. */
  withQuota: RequestOwner["run"];
  /** Connections of the pools, for metrics. */
  pools(): Record<"transactions" | "prepared" | "identifying" | "background" | "streams", PoolCounts>;
  /** Returns the id of this process's {@link LivenessLock}. */
  livenessId(): Promise<string>;
  /** Undefined unless `guarded` was set. */
  guard: Guard | undefined;
  close(): Promise<void>;
}

/** Creates the pools. Does not connect yet, so it also works while the database is unavailable; see also `migrate`. */
export async function openDatabase(options: DatabaseOptions): Promise<OpenDatabase> {
  const { url, clock, log } = options;
  const pools = createPools(options);
  const livenessLock = createLivenessLock(url, log);
  const listeners = new Map<string, Set<() => void>>();
  const guard = options.guarded === true ? createGuard() : undefined;
  const requestOwner = createRequestOwner();
  const mainQuota = createPoolQuota(pools.transactions, requestOwner);
  const backgroundQuota = createPoolQuota(pools.background, NO_OWNER);
  const orm = await MikroORM.init({
    dbName: parseIntoClientConfig(url).database ?? "postgres",
    driverOptions: new PoolDialect(pools.transactions, mainQuota),
    entities: [...options.entities],
    discovery: { warnWhenNoEntities: false },
    ensureDatabase: false,
    forceUtcTimezone: true,
    logger: (message) => log.debug(message),
    ignoreUndefinedInQuery: false,
  });

  const transactionOn = (quota: PoolQuota): Database["transaction"] =>
    createTransaction({
      orm,
      quota,
      clock,
      log,
      guard,
      wake: (name) => listeners.get(name)?.forEach((listener) => listener()),
    });
  const readOn =
    (connection?: ReturnType<typeof connectionOf>): Database["read"] =>
    async (work) => {
      guard?.assertNoTransaction("a read");
      guard?.assertNoneHeld("a read");
      const em = orm.em.fork({ useContext: false });
      if (connection !== undefined) em.setTransactionContext(connection);
      try {
        return await work(em);
      } catch (error) {
        throw mapFailure(error);
      }
    };
  const identifying = createPrepared(pools.identifying, guard);
  const watching = createPrepared(pools.streams, guard);
  const background: Database = {
    transaction: transactionOn(backgroundQuota),
    read: readOn(connectionOf(backgroundQuota)),
    prepared: createPrepared(pools.background, guard),
    identifying,
    watching,
    get background() {
      return background;
    },
  };

  return {
    transaction: transactionOn(mainQuota),
    read: readOn(),
    prepared: createPrepared(pools.prepared, guard, createPoolQuota(pools.prepared, requestOwner)),
    identifying,
    watching,
    background,
    withQuota: requestOwner.run,
    // By connections that no list or search can fill: a slow query of an organization makes no instance unready.
    ready: () =>
      readReadiness(
        identifying,
        options.migrations.map((migration) => migration.name),
      ),
    onWake(name, listener) {
      const named = listeners.get(name) ?? new Set();
      listeners.set(name, named.add(listener));
      return () => named.delete(listener);
    },
    guard,
    pools: () => ({
      transactions: countsOf(pools.transactions),
      prepared: countsOf(pools.prepared),
      identifying: countsOf(pools.identifying),
      background: countsOf(pools.background),
      streams: countsOf(pools.streams),
    }),
    livenessId: () => livenessLock.id(),
    async close() {
      const { transactions, ...others } = pools;
      await Promise.all([orm.close(true), ...Object.values(others).map((pool) => pool.end()), livenessLock.close()]);
      if (!transactions.ending) await transactions.end();
    },
  };
}

function createPools({ url, log, poolSize = 10, preparedPoolSize = 4, backgroundPoolSize = 6 }: DatabaseOptions) {
  return {
    transactions: createAppPool(url, poolSize, log),
    prepared: createAppPool(url, preparedPoolSize, log),
    identifying: createAppPool(url, IDENTIFYING_POOL, log),
    background: createAppPool(url, backgroundPoolSize, log),
    streams: createAppPool(url, WATCHING_POOL, log),
  };
}

function countsOf(pool: Pool): PoolCounts {
  return { total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount };
}
