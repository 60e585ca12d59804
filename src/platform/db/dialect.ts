import { Kysely, PostgresDialect } from "kysely";
import type { Driver, PostgresPool } from "kysely";
import type { Pool, PoolClient } from "pg";
import { ReleasingDriver } from "./patches/kysely-releasing-driver.ts";
import type { Shares } from "./shares.ts";

/** Dialect with which MikroORM uses an existing pool, within the share of the caller. */
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
 * Returns a Kysely instance with which MikroORM uses one given connection. The transaction that owns the connection
 * releases it: `release` does nothing here.
 */
export function connectionOf({ connect }: { connect: () => Promise<PoolClient> }): Kysely<unknown> {
  return new Kysely({
    dialect: new PostgresDialect({ pool: { connect: () => connect(), end: () => Promise.resolve(), options: {} } }),
  });
}
