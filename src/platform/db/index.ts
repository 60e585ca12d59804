import { MikroORM } from "@mikro-orm/postgresql";
import type { EntitySchema } from "@mikro-orm/core";
import { parseIntoClientConfig } from "pg-connection-string";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { tracing, withSpan } from "../tracing.ts";
import { createAppPool, SPAN_ATTRIBUTES } from "./connection.ts";
import { connectionOf, PoolDialect } from "./dialect.ts";
import { createGuard } from "./guard.ts";
import type { Guard } from "./guard.ts";
import { DatabaseStartError, isReadOnly, mapFailure } from "./failure.ts";
import { createLivenessLock } from "./liveness-lock.ts";
import { migrationTable } from "./migrator.ts";
import type { MigrationObject } from "./migrator.ts";
import { createPoolQuota, createRequestOwner, NO_OWNER } from "./pool-quota.ts";
import type { PoolQuota, RequestOwner } from "./pool-quota.ts";
import { createTransaction, OUTBOX } from "./transaction.ts";
import type { Database } from "./types.ts";

export type * from "./types.ts";
export { OUTBOX };
export { connectionFailure } from "./connection.ts";
export { DatabaseStartError, mapFailure, violatedConstraint } from "./failure.ts";
export { defineConcurrentMigration, defineMigration, migrate } from "./migrator.ts";
export type { MigrationObject } from "./migrator.ts";
export { grantApp, grantAppendOnly, grantRead } from "./grants.ts";
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

/** PostgreSQL cuts longer names of statements, so that two could become one. */
const MAX_NAME = 63;

/** Each is `ok` or a short description of the problem. */
export interface Readiness {
  database: string;
  migrations: string;
  /** Why the database is unreachable, for the log: it may name addresses and roles. */
  reason?: string;
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
  const { log } = options;
  const mainPool = createAppPool(options.url, options.poolSize ?? 10, log);
  const preparedPool = createAppPool(options.url, options.preparedPoolSize ?? 4, log);
  const identifyingPool = createAppPool(options.url, IDENTIFYING_POOL, log);
  const backgroundPool = createAppPool(options.url, options.backgroundPoolSize ?? 6, log);
  const streamPool = createAppPool(options.url, WATCHING_POOL, log);
  const livenessLock = createLivenessLock(options.url, log);
  const listeners = new Map<string, Set<() => void>>();
  const guard = options.guarded === true ? createGuard() : undefined;
  const requestOwner = createRequestOwner();
  const mainQuota = createPoolQuota(mainPool, requestOwner);
  const backgroundQuota = createPoolQuota(backgroundPool, NO_OWNER);
  const orm = await MikroORM.init({
    dbName: parseIntoClientConfig(options.url).database ?? "postgres",
    driverOptions: new PoolDialect(mainPool, mainQuota),
    entities: [...options.entities],
    discovery: { warnWhenNoEntities: false },
    ensureDatabase: false,
    forceUtcTimezone: true,
    logger: (message) => log.debug(message),
    ignoreUndefinedInQuery: false,
  });

  const preparedOn =
    (pool: typeof preparedPool, quota?: PoolQuota): Database["prepared"] =>
    async <R extends object>(name: string, text: string, params: readonly unknown[]) => {
      guard?.assertNoTransaction(`the statement ${name}`);
      guard?.assertReadOnly(name, text);
      if (guard !== undefined && name.length > MAX_NAME)
        throw new Error(`the name of the statement ${name} is longer than ${MAX_NAME} characters`);
      try {
        // The span starts here: a statement that waits is sent in the asynchronous context that frees its connection.
        const query = () => pool.query<R>({ name, text, values: params as unknown[] });
        const send = () => (quota === undefined ? query() : quota.run(query));
        return (await (tracing() ? withSpan(`SQL ${name}`, send, SPAN_ATTRIBUTES) : send())).rows;
      } catch (error) {
        throw mapFailure(error);
      }
    };
  const transactionOn = (quota: PoolQuota): Database["transaction"] =>
    createTransaction({
      orm,
      quota,
      clock: options.clock,
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
  const prepared = preparedOn(preparedPool, createPoolQuota(preparedPool, requestOwner));
  const watching = preparedOn(streamPool);
  const background: Database = {
    transaction: transactionOn(backgroundQuota),
    read: readOn(connectionOf(backgroundQuota)),
    prepared: preparedOn(backgroundPool),
    identifying: preparedOn(identifyingPool),
    watching,
    get background() {
      return background;
    },
  };

  const counts = (pool: typeof mainPool) => ({
    total: pool.totalCount,
    idle: pool.idleCount,
    waiting: pool.waitingCount,
  });
  return {
    prepared,
    identifying: background.identifying,
    background,
    transaction: transactionOn(mainQuota),
    read: readOn(),
    withQuota: requestOwner.run,
    watching,
    // By connections that no list or search can fill: a slow query of an organization makes no instance unready.
    ready: () =>
      readiness(
        background.identifying,
        options.migrations.map((migration) => migration.name),
      ),
    onWake(name, listener) {
      const named = listeners.get(name) ?? new Set();
      listeners.set(name, named.add(listener));
      return () => named.delete(listener);
    },
    guard,
    pools: () => ({
      transactions: counts(mainPool),
      prepared: counts(preparedPool),
      identifying: counts(identifyingPool),
      background: counts(backgroundPool),
      streams: counts(streamPool),
    }),
    livenessId: () => livenessLock.id(),
    async close() {
      await Promise.all([
        orm.close(true),
        preparedPool.end(),
        identifyingPool.end(),
        backgroundPool.end(),
        streamPool.end(),
        livenessLock.close(),
      ]);
      if (!mainPool.ending) await mainPool.end();
    },
  };
}

async function readiness(prepared: Database["prepared"], expected: readonly string[]): Promise<Readiness> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("it does not respond")), 1_800);
  });
  try {
    const asked = prepared<{ name: string; isReadOnly: boolean }>(
      "ready",
      `select name, current_setting('transaction_read_only') = 'on' as "isReadOnly" from ${migrationTable}`,
      [],
    );
    asked.catch(() => undefined);
    const rows = await Promise.race([asked, late]);
    if (rows[0]?.isReadOnly === true) return { database: "read-only", migrations: "unknown" };
    const done = new Set(rows.map((row) => row.name));
    const missing = expected.filter((name) => !done.has(name));
    return { database: "ok", migrations: missing.length === 0 ? "ok" : `missing: ${missing.join(", ")}` };
  } catch (error) {
    // undefined_table, and invalid_parameter_value for a role that does not exist yet
    const { code, cause } = error as { code?: string; cause?: unknown };
    if (cause instanceof DatabaseStartError) return { database: "not in the restricted role", migrations: "unknown" };
    if (isReadOnly(cause)) return { database: "read-only", migrations: "unknown" };
    if (code === "42P01" || code === "22023") return { database: "ok", migrations: "not run" };
    const { message } = (cause ?? error) as Error;
    return { database: "unreachable", migrations: "unknown", reason: message };
  } finally {
    clearTimeout(timer);
  }
}
