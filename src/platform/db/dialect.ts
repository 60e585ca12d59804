import { Kysely, PostgresDialect, PostgresDriver } from "kysely";
import type { DatabaseConnection, Driver, TransactionSettings } from "kysely";
import type { Pool, PoolClient } from "pg";

/**
 * Kysely's controlled transactions, which migrations run in, keep their connection for ever when BEGIN or ROLLBACK fails
 * (kysely issue 1990): their pool could not be ended any more.
 */
class ReleasingDriver extends PostgresDriver {
  override async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    try {
      await super.beginTransaction(connection, settings);
    } catch (error) {
      await this.releaseConnection(connection as Parameters<PostgresDriver["releaseConnection"]>[0]);
      throw error;
    }
  }

  /** What cannot be rolled back has lost its connection, and the server has done it already; see also `appPool`. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await super.rollbackTransaction(connection).catch(() => undefined);
  }
}

/** MikroORM's way into a pool of ours. */
export class PoolDialect extends PostgresDialect {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    super({ pool });
    this.#pool = pool;
  }

  override createDriver(): Driver {
    return new ReleasingDriver({ pool: this.#pool });
  }
}

/** MikroORM's way to one connection, which somebody else has taken, runs a transaction on, and gives back: `release` of `borrowed` does nothing. */
export function connectionOf(borrowed: PoolClient): Kysely<unknown> {
  return new Kysely({ dialect: new PostgresDialect({ pool: { connect: () => Promise.resolve(borrowed), end: () => Promise.resolve(), options: {} } }) });
}
