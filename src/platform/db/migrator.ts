import { MikroORM } from "@mikro-orm/postgresql";
import type { MigrationObject } from "@mikro-orm/core";
import { Migration, Migrator } from "@mikro-orm/migrations";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { parseIntoClientConfig } from "pg-connection-string";
import { describeDatabase, ownerConfig } from "./connection.ts";
import { PoolDialect } from "./dialect.ts";
import { DatabaseStartError, isUnavailable } from "./failure.ts";
import { grantRead } from "./grants.ts";
import { ensureAppRole } from "./role.ts";
import type { Log } from "../log.ts";

export type { MigrationObject };
/** Where the names of the migrations that have run are kept. */
export const migrationTable = "schema_migrations";
/** Any number of our own; one migration at a time in a database. */
const lockKey = 7_203_918_451;

/** A migration of plain SQL. Its name is forever; statements end with the grants of what they create. */
export function defineMigration(name: string, statements: readonly string[]): MigrationObject {
  const migration = class extends Migration {
    override up(): void {
      for (const statement of statements) this.addSql(statement);
    }
  };
  return { name, class: migration };
}

/** An index that is built while its table is in use. */
export interface ConcurrentIndex {
  /** Name of the index. */
  index: string;
  /** What follows `create index concurrently <name> on`: table, columns, condition. */
  on: string;
}

/**
 * A migration outside of any transaction, for tables that grow: its indexes are built concurrently, so that nobody who
 * writes has to wait. A start that is interrupted does all steps again: statements must change nothing the second time,
 * an index that was left half built is built anew.
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
  /** The role the application connects as, when it is another one. */
  appUrl?: string | undefined;
  migrations: readonly MigrationObject[];
  log: Log;
  /** How long to wait for a database that is away, milliseconds; default 30 s. */
  waitMs?: number;
}

/**
 * Brings the schema up to date, as the owner, under an advisory lock: instances that start together wait for the first.
 * Also makes the restricted role and lets the application's user take it.
 * @returns the names that ran now
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const client = await connectWithRetries(options.url, options.waitMs ?? 30_000);
  try {
    await acquireMigrationLock(client);
    await ensureAppRole(client, options.appUrl === undefined ? undefined : parseIntoClientConfig(options.appUrl).user);
    const ran = await runPending(options);
    await client.query(grantRead(migrationTable));
    if (ran.length > 0) options.log.info({ migrations: ran }, "database migrated");
    return ran;
  } finally {
    // The end of the connection releases the lock.
    await client.end();
  }
}

/**
 * Waits for the turn by asking again and again: a session that waits for the lock within a statement would hold up the
 * concurrent building of an index, which waits for all statements older than itself.
 */
async function acquireMigrationLock(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ mine: boolean }>("select pg_try_advisory_lock($1) as mine", [lockKey]);
    if (rows[0]?.mine === true) return;
    await sleep(50);
  }
}

async function runPending(options: MigrateOptions): Promise<string[]> {
  const pool = new pg.Pool({ ...ownerConfig(options.url), max: 2 });
  pool.on("error", () => undefined);
  // A connection that is lost fails the statement under way; without a listener it would end the process as well.
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

/** A first connection; waits while the database is away, gives up at once when it refuses us. */
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
      const reason = (error instanceof AggregateError ? (error.errors[0] as Error) : (error as Error)).message;
      const where = describeDatabase(url);
      if (!isUnavailable(error)) {
        throw new DatabaseStartError(`The database ${where} refuses the connection: ${reason}`, { cause: error });
      }
      if (performance.now() >= until) {
        const waited = `${Math.round(waitMs / 1000)} s`;
        throw new DatabaseStartError(`The database ${where} cannot be reached (waited ${waited}): ${reason}`, {
          cause: error,
        });
      }
      await sleep(Math.min(500, waitMs / 10));
    }
  }
}
