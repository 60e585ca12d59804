import { MikroORM } from "@mikro-orm/postgresql";
import type { EntitySchema } from "@mikro-orm/core";
import { parseIntoClientConfig } from "pg-connection-string";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { tracing, withSpan } from "../tracing.ts";
import { appPool, spanFacts } from "./connection.ts";
import { connectionOf, PoolDialect } from "./dialect.ts";
import { createGuard } from "./guard.ts";
import type { Guard } from "./guard.ts";
import { DatabaseStartError, mapFailure } from "./failure.ts";
import { createHolder } from "./holder.ts";
import { migrationTable } from "./migrator.ts";
import type { MigrationObject } from "./migrator.ts";
import { createShares, createSharing, unshared } from "./shares.ts";
import type { Shares, Sharing } from "./shares.ts";
import { createTransaction, OUTBOX } from "./transaction.ts";
import type { Database } from "./types.ts";

export type * from "./types.ts";
export { OUTBOX };
export { DatabaseStartError, mapFailure, violatedConstraint } from "./failure.ts";
export { defineConcurrentMigration, defineMigration, migrate } from "./migrator.ts";
export type { MigrationObject } from "./migrator.ts";
export { grantApp, grantAppendOnly, grantRead, grantSequence } from "./grants.ts";
export { isGone } from "./holder.ts";
export { createOutbox, MOST_EXPIRED } from "./outbox.ts";
export type { ExpiredRow, Outbox, OutboxRow } from "./outbox.ts";
export { boundedCount, totalOf } from "./counting.ts";
export type { Total } from "./counting.ts";
export { pageOf } from "./paging.ts";
export type { Page } from "./paging.ts";

/** Connections for the look at who calls, which no request may keep from another. */
const IDENTIFYING_POOL = 2;
/** Connections for what open streams ask; each question is one of many streams. */
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
  /** Connections for work in the background; default 6. */
  backgroundPoolSize?: number;
  /** Makes wrong uses of the database errors, see `Guard`: for development and tests. */
  guarded?: boolean;
}

/** How things stand: `ok`, or what is wrong in a few words. */
export interface Readiness {
  database: string;
  migrations: string;
}

/** Connections of a pool, and who waits for one. */
export interface PoolCounts {
  total: number;
  idle: number;
  waiting: number;
}

/** The database with its life: what compose.ts and the server see. */
export interface OpenDatabase extends Database {
  /** Asks the database now; answers within 2 s, never rejects. */
  ready(): Promise<Readiness>;
  /**
   * Calls `listener` after each commit of this process that asked to wake `name` (`Tx.wake`; `OUTBOX` after outbox
   * rows). @returns a function that stops it
   */
  onWake(name: string, listener: () => void): () => void;
  /** Runs a request of somebody: however many statements it causes, half of each pool is left to others. */
  sharing: Sharing["of"];
  /** Connections of the pools, for metrics. */
  pools(): Record<"transactions" | "prepared" | "identifying" | "background" | "streams", PoolCounts>;
  /** The id under which this process holds what ends with it; see `holder.ts`. */
  holder(): Promise<string>;
  /** Only where it was asked for. */
  guard: Guard | undefined;
  close(): Promise<void>;
}

/** Opens the pools. Does not connect yet, so it works with a database that is away; migrations are `migrate`'s. */
export async function openDatabase(options: DatabaseOptions): Promise<OpenDatabase> {
  const { log } = options;
  const main = appPool(options.url, options.poolSize ?? 10, log);
  const hot = appPool(options.url, options.preparedPoolSize ?? 4, log);
  const identifying = appPool(options.url, IDENTIFYING_POOL, log);
  const behind = appPool(options.url, options.backgroundPoolSize ?? 6, log);
  const streams = appPool(options.url, WATCHING_POOL, log);
  const holder = createHolder(options.url, log);
  const listeners = new Map<string, Set<() => void>>();
  const guard = options.guarded === true ? createGuard() : undefined;
  const sharing = createSharing();
  const mainShares = createShares(main, sharing);
  const behindShares = createShares(behind, unshared);
  const orm = await MikroORM.init({
    dbName: parseIntoClientConfig(options.url).database ?? "postgres",
    driverOptions: new PoolDialect(main, mainShares),
    entities: [...options.entities],
    discovery: { warnWhenNoEntities: false },
    ensureDatabase: false,
    forceUtcTimezone: true,
    logger: (message) => log.debug(message),
    ignoreUndefinedInQuery: false,
  });

  const preparedOn =
    (pool: typeof hot, shares?: Shares): Database["prepared"] =>
    async <R extends object>(name: string, text: string, params: readonly unknown[]) => {
      guard?.demandFree(`the statement ${name}`);
      guard?.demandReading(name, text);
      try {
        // The span is made here: a statement that waits for a connection is sent from where that was freed.
        const query = () => pool.query<R>({ name, text, values: params as unknown[] });
        const send = () => (shares === undefined ? query() : shares.run(query));
        return (await (tracing() ? withSpan(`SQL ${name}`, send, spanFacts) : send())).rows;
      } catch (error) {
        throw mapFailure(error);
      }
    };
  const transactionOn = (shares: Shares): Database["transaction"] =>
    createTransaction({
      orm,
      shares,
      clock: options.clock,
      log,
      guard,
      wake: (name) => listeners.get(name)?.forEach((listener) => listener()),
    });
  const readOn =
    (connection?: ReturnType<typeof connectionOf>): Database["read"] =>
    async (work) => {
      guard?.demandFree("a read");
      guard?.demandNoneHeld("a read");
      const em = orm.em.fork({ useContext: false });
      if (connection !== undefined) em.setTransactionContext(connection);
      try {
        return await work(em);
      } catch (error) {
        throw mapFailure(error);
      }
    };
  const prepared = preparedOn(hot, createShares(hot, sharing));
  const watching = preparedOn(streams);
  const background: Database = {
    transaction: transactionOn(behindShares),
    read: readOn(connectionOf(behindShares)),
    prepared: preparedOn(behind),
    identifying: preparedOn(identifying),
    watching,
    get background() {
      return background;
    },
  };

  const counts = (pool: typeof main) => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount });
  return {
    prepared,
    identifying: background.identifying,
    background,
    transaction: transactionOn(mainShares),
    read: readOn(),
    sharing: sharing.of,
    watching,
    ready: () =>
      readiness(
        prepared,
        options.migrations.map((migration) => migration.name),
      ),
    onWake(name, listener) {
      const named = listeners.get(name) ?? new Set();
      listeners.set(name, named.add(listener));
      return () => named.delete(listener);
    },
    guard,
    pools: () => ({
      transactions: counts(main),
      prepared: counts(hot),
      identifying: counts(identifying),
      background: counts(behind),
      streams: counts(streams),
    }),
    holder: () => holder.id(),
    async close() {
      await Promise.all([orm.close(true), hot.end(), identifying.end(), behind.end(), streams.end(), holder.close()]);
      if (!main.ending) await main.end();
    },
  };
}

async function readiness(prepared: Database["prepared"], expected: readonly string[]): Promise<Readiness> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("no answer")), 1_800);
  });
  try {
    const asked = prepared<{ name: string }>("ready", `select name from ${migrationTable}`, []);
    asked.catch(() => undefined);
    const done = new Set((await Promise.race([asked, late])).map((row) => row.name));
    const missing = expected.filter((name) => !done.has(name));
    return { database: "ok", migrations: missing.length === 0 ? "ok" : `missing: ${missing.join(", ")}` };
  } catch (error) {
    // undefined_table, and invalid_parameter_value for a role that does not exist yet
    const { code, cause } = error as { code?: string; cause?: unknown };
    if (cause instanceof DatabaseStartError) return { database: "not in the restricted role", migrations: "unknown" };
    if (code === "42P01" || code === "22023") return { database: "ok", migrations: "not run" };
    return { database: "unreachable", migrations: "unknown" };
  } finally {
    clearTimeout(timer);
  }
}
