import type { EventEmitter } from "node:events";
import type pg from "pg";
import { READ_ONLY } from "./failure.ts";
import { closeConnection } from "./patches/pg-close-connection.ts";

/** Parameters that a server reports as `on` to connections that cannot write. */
const REPORTED = new Set(["default_transaction_read_only", "in_hot_standby"]);

interface ParameterStatus {
  parameterName: string;
  parameterValue: string;
}

const demoted = new WeakSet<pg.ClientBase>();

/** Whether the server of a connection has become read-only since it was opened. */
export const isDemoted = (client: pg.ClientBase): boolean => demoted.has(client);

/** The error of a connection that can only read. */
export function readOnly(): Error {
  return Object.assign(new Error("it is read-only: a standby, or set so by its administrator"), { code: READ_ONLY });
}

/**
 * Closes a connection when its server becomes read-only: in a planned switchover, the former primary goes on serving it
 * while another server takes the writes, so that its data are out of date. The server reports it before it completes
 * the next statement, which fails. One inside a transaction completes: the transaction may have been committed.
 */
export function closeWhenDemoted(client: pg.Client): void {
  const { connection } = client as unknown as { connection: EventEmitter };
  connection.on("parameterStatus", ({ parameterName, parameterValue }: ParameterStatus) => {
    if (parameterValue !== "on" || !REPORTED.has(parameterName)) return;
    demoted.add(client);
    if (client.getTransactionStatus() !== "I") return;
    // Fails the statement now: its end is usually in the same packet, and would complete it with what is out of date.
    connection.emit("error", readOnly());
    closeConnection(client);
  });
}
