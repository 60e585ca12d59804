/**
 * Kysely's controlled transactions, which migrations run in, never release their connection when BEGIN or ROLLBACK
 * fails, so that their pool could not be ended.
 *
 * @patches kysely 0.29.6
 * @upstream https://github.com/kysely-org/kysely/issues/1990
 */
import { PostgresDriver } from "kysely";
import type { DatabaseConnection, TransactionSettings } from "kysely";

/** A driver that releases the connection of a transaction that could not begin. */
export class ReleasingDriver extends PostgresDriver {
  override async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    try {
      await super.beginTransaction(connection, settings);
    } catch (error) {
      await this.releaseConnection(connection as Parameters<PostgresDriver["releaseConnection"]>[0]);
      throw error;
    }
  }

  /**
   * A transaction that cannot be rolled back has lost its connection, and the server has rolled it back; see
   * `createAppPool`.
   */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await super.rollbackTransaction(connection).catch(() => undefined);
  }
}
