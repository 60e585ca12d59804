import { MikroORM } from "@mikro-orm/postgresql";
import type { MigrationObject } from "@mikro-orm/core";
import { Migration, Migrator } from "@mikro-orm/migrations";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { parseIntoClientConfig } from "pg-connection-string";
import { connectionFailure, ownerConfig } from "./connection.ts";
import { PoolDialect } from "./dialect.ts";
import { isUnavailable } from "./failure.ts";
import { grantRead } from "./grants.ts";
import { ensureAppRole } from "./role.ts";
import type { Log } from "../log.ts";

export type { MigrationObject };
/** Table with the names of the migrations that have run. */
export const migrationTable = "schema_migrations";
/** Key of the advisory lock under which migrations run, one at a time per database. */
const LOCK_KEY = 7_203_918_451;

/** Defines a migration of SQL statements. Its name must never change; grants follow what the statements create. */
export function defineMigration(name: string, statements: readonly string[]): MigrationObject {
  const migration = class extends Migration {
    override up(): void {
      for (const statement of statements) this.addSql(statement);
    }
  };
  return { name, class: migration };
}

/** An index that is built without blocking writes to its table. */
export interface ConcurrentIndex {
  /** Name of the index. */
  index: string;
  /** SQL after `create index concurrently <name> on`: table, columns, condition. */
  on: string;
}

/**
 * Defines a migration without a transaction, for tables that grow: its indexes are built concurrently, so that writes
 * do not wait. After an interruption all steps run again: statements must be idempotent, and invalid indexes are
 * rebuilt.
 */
export function defineConcurrentMigration(name: string, steps: readonly (string | ConcurrentIndex)[]): MigrationObject {
  const migration = class extends Migration {
    override isTransactional(): boolean {
      return false;
    }

    override async up(): Promise<void> {
      for (const step of steps) {
        if (typeof step === "string") await this.execute(step);
        else await this.#build(step);
      }
    }

    async #build({ index, on }: ConcurrentIndex): Promise<void> {
      const sql = "select indisvalid as valid from pg_index where indexrelid = to_regclass(?)";
      const [found] = (await this.execute(sql, [index])) as { valid: boolean }[];
      if (found?.valid === true) return;
      if (found !== undefined) await this.execute(`drop index concurrently ${index}`);
      await this.execute(`create index concurrently ${index} on ${on}`);
    }
  };
  return { name, class: migration };
}

export interface MigrateOptions {
  /** The role that owns the schema. */
  url: string;
  /** URL with the user that the application connects as, if another one. */
  appUrl?: string | undefined;
  migrations: readonly MigrationObject[];
  log: Log;
  /** Maximum wait for an unavailable database, milliseconds; default 30 s. */
  waitMs?: number;
}

/**
 * Runs pending migrations as the owner of the schema, under an advisory lock: of instances that start at the same time,
 * one migrates and the others wait. Also creates the restricted role and grants it to the application's user.
 * @returns the names of the migrations that ran
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const client = await connectWithRetries(options.url, options.waitMs ?? 30_000);
  try {
    await acquireMigrationLock(client);
    await ensureAppRole(client, options.appUrl === undefined ? undefined : parseIntoClientConfig(options.appUrl).user);
    const ran = await runPending(options);
    await client.query(grantRead(migrationTable));
    if (ran.length > 0) options.log.info({ migrations: ran }, "migrations have run");
    return ran;
  } finally {
    // The end of the connection releases the lock.
    await client.end();
  }
}

/**
 * Polls for the lock: a session that waits inside a statement would block concurrent index builds, which wait for all
 * older statements.
 */
async function acquireMigrationLock(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ acquired: boolean }>("select pg_try_advisory_lock($1) as acquired", [
      LOCK_KEY,
    ]);
    if (rows[0]?.acquired === true) return;
    await sleep(50);
  }
}

async function runPending(options: MigrateOptions): Promise<string[]> {
  const pool = new pg.Pool({ ...ownerConfig(options.url), max: 2 });
  pool.on("error", () => undefined);
  // A lost connection fails the current statement; without a listener it would also end the process.
  pool.on("connect", (client) => client.on("error", () => undefined));
  const orm = await MikroORM.init({
    dbName: parseIntoClientConfig(options.url).database ?? "postgres",
    driverOptions: new PoolDialect(pool),
    entities: [],
    discovery: { warnWhenNoEntities: false },
    extensions: [Migrator],
    ensureDatabase: false,
    migrations: {
      migrationsList: [...options.migrations],
      tableName: migrationTable,
      transactional: true,
      allOrNothing: false,
      snapshot: false,
      disableForeignKeys: false,
      silent: true,
    },
  });
  try {
    const done = await orm.migrator.up();
    return done.map((migration) => migration.name);
  } finally {
    await orm.close(true);
  }
}

/** Connects; waits while the database is unavailable, fails immediately when it refuses the connection. */
async function connectWithRetries(url: string, waitMs: number): Promise<pg.Client> {
  const until = performance.now() + waitMs;
  for (;;) {
    const client = new pg.Client(ownerConfig(url));
    client.on("error", () => undefined);
    try {
      await client.connect();
      return client;
    } catch (error) {
      await client.end().catch(() => undefined);
      if (!isUnavailable(error) || performance.now() >= until) throw connectionFailure(url, error, waitMs);
      await sleep(Math.min(500, waitMs / 10));
    }
  }
}
