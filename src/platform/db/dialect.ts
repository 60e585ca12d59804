import { Kysely, PostgresDialect } from "kysely";
import type { Driver, PostgresPool } from "kysely";
import type { Pool, PoolClient } from "pg";
import { ReleasingDriver } from "./patches/kysely-releasing-driver.ts";
import type { PoolQuota } from "./pool-quota.ts";

/** Dialect with which MikroORM uses an existing pool, within the quota of the request's owner. */
export class PoolDialect extends PostgresDialect {
  readonly #pool: PostgresPool;

  constructor(pool: Pool, quota: Pick<PoolQuota, "connect"> = { connect: () => pool.connect() }) {
    const shared: PostgresPool = { connect: () => quota.connect(), end: () => pool.end(), options: pool.options };
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
