import { Kysely, PostgresDialect, PostgresDriver } from "kysely";
import type { DatabaseConnection, Driver, PostgresPool, TransactionSettings } from "kysely";
import type { Pool, PoolClient } from "pg";
import type { Shares } from "./shares.ts";

/**
 * Kysely's controlled transactions, which migrations run in, keep their connection for ever when BEGIN or ROLLBACK
 * fails (kysely issue 1990): their pool could not be ended any more.
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

/** MikroORM's way into a pool of ours, out of the share of whoever asks. */
export class PoolDialect extends PostgresDialect {
  readonly #pool: PostgresPool;

  constructor(pool: Pool, shares: Pick<Shares, "connect"> = { connect: () => pool.connect() }) {
    const shared: PostgresPool = { connect: () => shares.connect(), end: () => pool.end(), options: pool.options };
    super({ pool: shared });
    this.#pool = shared;
  }

  override createDriver(): Driver {
    return new ReleasingDriver({ pool: this.#pool });
  }
}

/**
 * MikroORM's way to connections other than those it was opened with. The one connection of a transaction is taken and
 * given back by somebody else: its `release` does nothing.
 */
export function connectionOf({ connect }: { connect: () => Promise<PoolClient> }): Kysely<unknown> {
  return new Kysely({
    dialect: new PostgresDialect({ pool: { connect: () => connect(), end: () => Promise.resolve(), options: {} } }),
  });
}
