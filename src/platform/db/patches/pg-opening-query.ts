/**
 * BEGIN and the first statement of a transaction in one round trip. node-postgres ends every statement with a Sync of
 * its own, also in its pipeline mode, so that a statement sent behind a BEGIN that fails would run by itself.
 *
 * @patches pg 8.23.1
 * @upstream https://github.com/brianc/node-postgres/issues/2646
 */
import pg from "pg";

/** `error` is null or undefined when the query succeeded. */
type Done<R extends pg.QueryResultRow> = (error: Error | null | undefined, result: pg.QueryResult<R>) => void;

/** What queries of node-postgres do and its types omit. */
interface Internals {
  prepare(connection: pg.Connection): void;
  handleCommandComplete(message: unknown, connection: pg.Connection): void;
}

const base = pg.Query.prototype as unknown as Internals;

/** A message of the protocol: its type, its length without the type, and its content ("Message Formats"). */
function message(type: string, content: string): Buffer {
  const bytes = Buffer.from(`${type}\0\0\0\0${content}`, "latin1");
  bytes.writeInt32BE(bytes.length - 1, 1);
  return bytes;
}

/** Parse, Bind and Execute of BEGIN, by the unnamed statement and portal. */
const BEGIN = Buffer.concat([
  message("P", "\0begin\0\0\0"),
  message("B", "\0\0\0\0\0\0\0\0"),
  message("E", "\0\0\0\0\0"),
]);

/**
 * The first statement of a transaction, sent together with BEGIN. One Sync follows both: when BEGIN fails, the server
 * skips the statement, which would otherwise run outside a transaction ("Extended Query", pipelining).
 */
export class OpeningQuery<R extends pg.QueryResultRow = pg.QueryResultRow> extends pg.Query<R> {
  #hasBegun = false;
  #settled: (() => void) | undefined;

  constructor(config: pg.QueryConfig, done: Done<R>) {
    const callback: Done<R> = (error, result) => {
      this.#settled?.();
      done(error, result);
    };
    super(config, callback as ConstructorParameters<typeof pg.Query<R>>[1]);
  }

  /** Calls `action` when the query has succeeded or failed. */
  onceSettled(action: () => void): void {
    this.#settled = action;
  }

  /** Always: the simple protocol has no Sync to share. */
  requiresPreparation(): boolean {
    return true;
  }

  prepare(connection: pg.Connection): void {
    connection.stream.write(BEGIN);
    base.prepare.call(this, connection);
  }

  /** The first completed command is BEGIN. */
  handleCommandComplete(completed: unknown, connection: pg.Connection): void {
    if (this.#hasBegun) base.handleCommandComplete.call(this, completed, connection);
    this.#hasBegun = true;
  }
}
