import { MikroORM } from "@mikro-orm/postgresql";
import type { MigrationObject } from "@mikro-orm/core";
import { Migration, Migrator } from "@mikro-orm/migrations";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { parseIntoClientConfig } from "pg-connection-string";
import { connectionFailure, OWNER_APPLICATION, ownerConfig } from "./connection.ts";
import { PoolDialect } from "./dialect.ts";
import { hasGivenWay, isCanceled, isUnavailable } from "./failure.ts";
import { GRANT_FUNCTIONS, grantRead } from "./grants.ts";
import { rebuildInvalidIndexes } from "./invalid-indexes.ts";
import { demandSupported, migrationTable } from "./requirements.ts";
import { ensureAppRole } from "./role.ts";
import { withoutTransactionTimeout } from "./session-settings.ts";
import type { Log } from "../log.ts";

export type { MigrationObject };
/** Key of the advisory lock under which migrations run, one at a time per database. */
const LOCK_KEY = 7_203_918_451;
/**
 * Maximum wait of a statement of a migration for a lock. Every later statement of the service queues behind a waiting
 * `alter table`, so the wait is shorter than their time limit; then the migration gives way and is tried again.
 */
const LOCK_TIMEOUT = "2s";
/** Waits before a migration is tried again, milliseconds; the last repeats. */
const LOCK_RETRY_MS: readonly number[] = [500, 1_000, 2_000, 5_000];
/** Wait before a line says what is waited for, and between two lines. */
const TOLD_AFTER_MS = 1_000;
const TOLD_EVERY_MS = 30_000;

/** Defines a migration of SQL statements. Its name must never change; grants follow what the statements create. */
export function defineMigration(name: string, statements: readonly string[]): MigrationObject {
  const migration = class extends Migration {
    override up(): void {
      this.addSql(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
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

/** A statement that locks a table as a whole. One that is `concurrently` lets writes go on while it waits. */
const locksTable = (sql: string): boolean => /^\s*(?:alter|create|drop)\s(?!index\s+concurrently\s)/iu.test(sql);

/**
 * Defines a migration without a transaction, for tables that grow: its indexes are built concurrently, so that writes
 * do not wait. After an interruption, or when a statement has given way to another transaction, all steps run again:
 * statements must be idempotent, and invalid indexes are rebuilt.
 */
export function defineConcurrentMigration(name: string, steps: readonly (string | ConcurrentIndex)[]): MigrationObject {
  const migration = class extends Migration {
    override isTransactional(): boolean {
      return false;
    }

    override async up(): Promise<void> {
      for (const step of steps) {
        if (typeof step === "string") await this.#run(step);
        else await this.#build(step);
      }
    }

    async #run(sql: string): Promise<void> {
      // Sent as one query: its statements have a transaction of their own, which the time limit ends with.
      await this.execute(locksTable(sql) ? `set local lock_timeout = '${LOCK_TIMEOUT}';\n${sql}` : sql);
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
  /** Prints a line about what a migration waits for; default: the log. */
  say?: (line: string) => void;
  /** Maximum wait for an unavailable database, milliseconds; default 30 s. */
  waitMs?: number;
}

/** Default of `MigrateOptions.waitMs`. */
const WAIT_MS = 30_000;

/** Wait before migrations go on after the database was lost, milliseconds. */
const RESUME_MS = 500;

/**
 * Runs pending migrations as the owner of the schema, under an advisory lock: of instances that start at the same time,
 * one migrates and the others wait. Also creates the restricted role and grants it to the application's user, and
 * rebuilds invalid indexes. Goes on when the database was lost or read-only for a while, as in a failover.
 * @returns the names of the migrations that ran
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const { url, log, waitMs = WAIT_MS } = options;
  const ran: string[] = [];
  // Set by the first failure, and anew by each failure before which a migration has run.
  let deadlineAt = -Infinity;
  let ranAtFailure = -1;
  for (;;) {
    const client = await connectWithRetries(url, waitMs);
    try {
      await migrateOn(client, options, ran);
      if (ran.length > 0) log.debug({ migrations: ran }, "migrations have run");
      return ran;
    } catch (error) {
      if (!isUnavailable(error) || isCanceled(error)) throw error;
      // Migrations may be interrupted more than once: only failures without progress between them use up the time.
      if (ran.length > ranAtFailure) {
        deadlineAt = performance.now() + waitMs;
        ranAtFailure = ran.length;
      }
      if (performance.now() >= deadlineAt) throw connectionFailure(url, error, waitMs);
    } finally {
      // The end of the connection releases the lock.
      await client.end();
    }
    await sleep(Math.min(RESUME_MS, waitMs / 10));
  }
}

async function migrateOn(client: pg.Client, options: MigrateOptions, ran: string[]): Promise<void> {
  const { say = (line: string) => options.log.warn(line), appUrl } = options;
  await demandSupported(client, options.url);
  await acquireMigrationLock(client, say);
  await ensureAppRole(client, appUrl === undefined ? undefined : parseIntoClientConfig(appUrl).user);
  await withBlockersTold(client, say, async () => {
    await runAll(options, ran);
    await rebuildInvalidIndexes(() => connectWithRetries(options.url, options.waitMs ?? WAIT_MS), say);
  });
  await client.query(GRANT_FUNCTIONS);
  await client.query(grantRead(migrationTable));
}

/**
 * Polls for the lock: a session that waits inside a statement would block concurrent index builds, which wait for all
 * older statements.
 */
async function acquireMigrationLock(client: pg.Client, say: (line: string) => void): Promise<void> {
  const began = performance.now();
  let toldAt = began + TOLD_AFTER_MS - TOLD_EVERY_MS;
  for (;;) {
    const { rows } = await client.query<{ acquired: boolean }>("select pg_try_advisory_lock($1) as acquired", [
      LOCK_KEY,
    ]);
    if (rows[0]?.acquired === true) return;
    const now = performance.now();
    if (now - toldAt >= TOLD_EVERY_MS) {
      toldAt = now;
      say("Another instance is migrating the database; waiting for it");
    }
    await sleep(50);
  }
}

/**
 * Sessions that a migration waits for: those that hold its lock, or that an index build lets end first, as it may this
 * very statement.
 */
const BLOCKERS = `select distinct holder.pid, holder.application_name as name
  from pg_stat_activity waiting
  cross join lateral unnest(pg_blocking_pids(waiting.pid)) as blocking (pid)
  join pg_stat_activity holder on holder.pid = blocking.pid
  where waiting.application_name = '${OWNER_APPLICATION}' and waiting.datname = current_database()
    and holder.pid <> pg_backend_pid()`;

/** Runs migrations; beside them, a line says which sessions they wait for. */
async function withBlockersTold<T>(client: pg.Client, say: (line: string) => void, run: () => Promise<T>): Promise<T> {
  let told = "";
  let toldAt = -Infinity;
  async function tell(): Promise<void> {
    const { rows } = await client.query<{ pid: number; name: string | null }>(BLOCKERS);
    const names = rows
      .map(({ pid, name }) => (name === null || name === "" ? `${pid}` : `${pid} (${name})`))
      .join(", ");
    if (names === "" || (names === told && performance.now() - toldAt < TOLD_EVERY_MS)) return;
    told = names;
    toldAt = performance.now();
    say(`A migration waits until the transaction of this PostgreSQL process ends: ${names}`);
  }
  let telling: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    telling = telling.then(tell).catch(() => undefined);
  }, TOLD_AFTER_MS);
  try {
    return await run();
  } finally {
    clearInterval(timer);
    await telling;
  }
}

/** Runs pending migrations, again while one gives way to another transaction, and adds the names of those that ran. */
async function runAll(options: MigrateOptions, ran: string[]): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await runPending(options, ran);
    } catch (error) {
      if (!hasGivenWay(error)) throw error;
      await sleep(LOCK_RETRY_MS[Math.min(attempt, LOCK_RETRY_MS.length - 1)]);
    }
  }
}

/** Runs pending migrations, and adds the name of each that has run. */
async function runPending(options: MigrateOptions, ran: string[]): Promise<void> {
  // Its type leaves out that the pool waits for a promise.
  const onConnect: (client: pg.ClientBase) => unknown = endTransactionTimeout;
  const pool = new pg.Pool({ ...ownerConfig(options.url), max: 2, onConnect });
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
  orm.migrator.on("migrated", ({ name }) => void ran.push(name));
  try {
    await orm.migrator.up();
  } finally {
    await orm.close(true);
  }
}

/** Lets transactions of a connection last as long as they need. */
async function endTransactionTimeout(client: pg.ClientBase): Promise<void> {
  await client.query(withoutTransactionTimeout("session"));
}

/** Connects; waits while the database is unavailable, fails immediately when it refuses the connection. */
async function connectWithRetries(url: string, waitMs: number): Promise<pg.Client> {
  const until = performance.now() + waitMs;
  for (;;) {
    const client = new pg.Client(ownerConfig(url));
    client.on("error", () => undefined);
    try {
      await client.connect();
      await endTransactionTimeout(client);
      return client;
    } catch (error) {
      await client.end().catch(() => undefined);
      if (!isUnavailable(error) || performance.now() >= until) throw connectionFailure(url, error, waitMs);
      await sleep(Math.min(500, waitMs / 10));
    }
  }
}
