/**
 * Closes the connection of a client at once. `query_timeout` of node-postgres only reports the time-out: the connection
 * stays in its pool, and every later query on it waits for the same missing response.
 *
 * @patches pg 8.23.1
 * @upstream https://github.com/brianc/node-postgres/issues/3399
 */
import type pg from "pg";

/** Destroys the socket of a client, so that its queries fail and its pool replaces it. */
export function closeConnection(client: pg.Client, reason?: Error): void {
  client.connection.stream.destroy(reason);
}
