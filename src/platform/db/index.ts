import { MikroORM } from "@mikro-orm/postgresql";
import type { EntitySchema } from "@mikro-orm/core";
import { parseIntoClientConfig } from "pg-connection-string";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { tracing, withSpan } from "../tracing.ts";
import { appPool, spanFacts } from "./connection.ts";
import { PoolDialect } from "./dialect.ts";
import { mapFailure } from "./failure.ts";
import { migrationTable } from "./migrator.ts";
import type { MigrationObject } from "./migrator.ts";
import { createTransaction } from "./transaction.ts";
import type { Database } from "./types.ts";

export type * from "./types.ts";
export { DatabaseStartError, violatedConstraint } from "./failure.ts";
export { defineMigration, migrate } from "./migrator.ts";
export type { MigrationObject } from "./migrator.ts";
export { grantApp, grantAppendOnly, grantRead, grantSequence } from "./grants.ts";
export { createOutbox } from "./outbox.ts";
export type { ExpiredRow, Outbox, OutboxRow } from "./outbox.ts";
export { pageOf } from "./paging.ts";
export type { Page } from "./paging.ts";

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
}

/** How things stand: `ok`, or what is wrong in a few words. */
export interface Readiness {
  database: string;
  migrations: string;
}

/** The database with its life: what compose.ts and the server see. */
export interface OpenDatabase extends Database {
  /** Asks the database now; answers within 2 s, never rejects. */
  ready(): Promise<Readiness>;
  /** Calls `listener` after each commit of this process that wrote outbox rows. @returns a function that stops it */
  onOutbox(listener: () => void): () => void;
  /** Connections of both pools, for metrics. */
  pools(): Record<"transactions" | "prepared", { total: number; idle: number; waiting: number }>;
  close(): Promise<void>;
}

/** Opens the pools. Does not connect yet, so it works with a database that is away; migrations are `migrate`'s. */
export async function openDatabase(options: DatabaseOptions): Promise<OpenDatabase> {
  const { log } = options;
  const main = appPool(options.url, options.poolSize ?? 10, log);
  const hot = appPool(options.url, options.preparedPoolSize ?? 4, log);
  const listeners = new Set<() => void>();
  const orm = await MikroORM.init({
    dbName: parseIntoClientConfig(options.url).database ?? "postgres",
    driverOptions: new PoolDialect(main),
    entities: [...options.entities],
    discovery: { warnWhenNoEntities: false },
    ensureDatabase: false,
    forceUtcTimezone: true,
    logger: (message) => log.debug(message),
    ignoreUndefinedInQuery: false,
  });

  async function prepared<R extends object>(name: string, text: string, params: readonly unknown[]): Promise<R[]> {
    try {
      // The span is made here: a statement that waits for a connection is sent from where that was freed.
      const answer = tracing() ? withSpan(`SQL ${name}`, () => hot.query<R>({ name, text, values: params as unknown[] }), spanFacts) : hot.query<R>({ name, text, values: params as unknown[] });
      return (await answer).rows;
    } catch (error) {
      throw mapFailure(error);
    }
  }

  const counts = (pool: typeof main) => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount });
  return {
    prepared,
    transaction: createTransaction({ orm, pool: main, clock: options.clock, log, nudge: () => listeners.forEach((listener) => listener()) }),
    async read(work) {
      try {
        return await work(orm.em.fork({ useContext: false }));
      } catch (error) {
        throw mapFailure(error);
      }
    },
    ready: () => readiness(prepared, options.migrations.map((migration) => migration.name)),
    onOutbox(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    pools: () => ({ transactions: counts(main), prepared: counts(hot) }),
    async close() {
      await Promise.all([orm.close(true), hot.end()]);
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
    const code = (error as { code?: string }).code;
    if (code === "42P01" || code === "22023") return { database: "ok", migrations: "not run" };
    return { database: "unreachable", migrations: "unknown" };
  } finally {
    clearTimeout(timer);
  }
}
