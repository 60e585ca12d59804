/**
 * Statements in one round trip. node-postgres ends every statement with a Sync of its own, also in its pipeline mode:
 * the server sends its responses after each, and a statement sent behind a BEGIN that fails would run by itself.
 *
 * @patches pg 8.23.1
 * @upstream https://github.com/brianc/node-postgres/issues/2646
 */
import pg from "pg";

type Row = pg.QueryResultRow;

/** What node-postgres does and its types omit. */
interface Internals {
  bind(config: object): void;
  parsedStatements: Record<string, string>;
  submittedNamedStatements: Record<string, string>;
}
const { prepareValue } = (pg as unknown as { utils: { prepareValue: (value: unknown) => unknown } }).utils;
const encoder = pg.Connection.prototype as unknown as Internals;

/** A message of the protocol: its type, its length without the type, and its content ("Message Formats"). */
function message(type: string, content: string): Buffer {
  const bytes = Buffer.from(`${type}\0\0\0\0${content}`, "utf8");
  bytes.writeInt32BE(bytes.length - 1, 1);
  return bytes;
}

/** Of the unnamed portal. */
const DESCRIBE = message("D", "P\0");
const EXECUTE = message("E", "\0\0\0\0\0");
const SYNC = message("S", "");

/** @throws what a value throws that cannot be sent */
function bindMessage(statement: string, values: readonly unknown[]): Buffer {
  let bytes = SYNC;
  const sink = { _send: (sent: Buffer) => (bytes = sent) };
  encoder.bind.call(sink as unknown as Internals, { statement, values, valueMapper: prepareValue });
  return bytes;
}

/** Names and parsers of the columns of a result. */
interface Columns {
  names: string[];
  parsers: ((text: string) => unknown)[];
}
const NO_COLUMNS: Columns = { names: [], parsers: [] };

/**
 * Columns by the names of the prepared statements of a connection. They never change: Bind fails after a migration that
 * changes them ("cached plan must not change result type").
 */
const described = new WeakMap<object, Map<string, Columns>>();

/** What a statement resolves to. */
export class Answer<R extends Row> {
  readonly rows: R[];
  readonly #tag: string;

  constructor(rows: R[], tag: string) {
    this.rows = rows;
    this.#tag = tag;
  }

  /** `INSERT`, `COMMIT`, … */
  get command(): string {
    return this.#tag.split(" ", 1)[0] as string;
  }

  get rowCount(): number {
    return Number(/\d+$/.exec(this.#tag)?.[0] ?? 0);
  }
}

/** Who waits for a statement. */
export interface Waiting<R extends Row> {
  resolve(answer: Answer<R>): void;
  reject(error: unknown): void;
}

/** One statement of a {@link QueryGroup}. Takes its values at once: they may change before it is sent. */
export class GroupedStatement<R extends Row = Row> {
  readonly name: string | undefined;
  readonly text: string;
  /** As given. */
  readonly values: readonly unknown[];
  readonly #bind: Buffer;
  readonly #waiting: Waiting<R>;
  #columns: Columns | undefined;
  #rows: R[] = [];
  #tag = "";
  #broken: { error: unknown } | undefined;
  #parses = false;

  /**
   * `name`: to prepare it under.
   * @throws what a value throws that cannot be sent
   */
  constructor(text: string, name: string | undefined, values: readonly unknown[], waiting: Waiting<R>) {
    this.name = name;
    this.text = text;
    this.values = values;
    this.#bind = bindMessage(name ?? "", values);
    this.#waiting = waiting;
  }

  /** Adds its messages: Parse unless it is prepared, Bind, Describe unless its columns are known, Execute. */
  write(to: Buffer[], connection: Internals, known: ReadonlyMap<string, Columns>): void {
    const { name, text } = this;
    const prepared =
      name !== undefined && (connection.parsedStatements[name] ?? connection.submittedNamedStatements[name]);
    if (prepared !== text) {
      to.push(message("P", `${name ?? ""}\0${text}\0\0\0`));
      this.#parses = true;
      if (name !== undefined) connection.submittedNamedStatements[name] = text;
    }
    this.#columns = name === undefined ? undefined : known.get(name);
    to.push(this.#bind);
    if (this.#columns === undefined) to.push(DESCRIBE);
    to.push(EXECUTE);
  }

  describe(columns: Columns): void {
    this.#columns = columns;
  }

  row(fields: readonly (string | null)[]): void {
    const { names, parsers } = this.#columns ?? NO_COLUMNS;
    const row: Record<string, unknown> = {};
    try {
      for (const [nth, name] of names.entries()) {
        const field = fields[nth] ?? null;
        row[name] = field === null ? null : parsers[nth]?.(field);
      }
    } catch (error) {
      this.#broken = { error };
    }
    this.#rows.push(row as R);
  }

  /** Returns the columns to remember. */
  complete(tag: string): Columns {
    this.#tag = tag;
    return (this.#columns ??= NO_COLUMNS);
  }

  resolve(): void {
    if (this.#broken === undefined) this.#waiting.resolve(new Answer(this.#rows, this.#tag));
    else this.#waiting.reject(this.#broken.error);
  }

  reject(error: unknown): void {
    this.#waiting.reject(error);
  }

  /** The server may not have received its Parse. */
  forget(connection: Internals): void {
    if (this.#parses && this.name !== undefined) Reflect.deleteProperty(connection.submittedNamedStatements, this.name);
  }
}

/** The server skipped a statement, because one before it in its group had failed. */
const skipped = (cause: unknown): Error =>
  Object.assign(new Error("the statement was skipped: one before it had failed", { cause }), { code: "25P02" });

/**
 * Statements that are sent at once with one Sync behind them. When one fails, the server skips those behind it, which
 * reject as in a failed transaction (25P02). All are settled together, when the server has responded to the last.
 */
export class QueryGroup {
  /** `Client.query` gives a query without one a promise. */
  readonly callback = (): void => undefined;
  readonly statements: readonly GroupedStatement[];
  readonly #typeParser: (oid: number) => (text: string) => unknown;
  readonly #settled: () => void;
  /** The statement whose response comes next. */
  #next = 0;
  #known: Map<string, Columns> = new Map();

  /** Calls `settled` before the statements are settled. */
  constructor(
    statements: readonly GroupedStatement[],
    typeParser: (oid: number) => (text: string) => unknown,
    settled: () => void,
  ) {
    this.statements = statements;
    this.#typeParser = typeParser;
    this.#settled = settled;
  }

  /** With `text`, for the client's record of prepared statements. */
  get name(): string | undefined {
    return this.statements[this.#next]?.name;
  }

  get text(): string | undefined {
    return this.statements[this.#next]?.text;
  }

  submit(connection: pg.Connection & Internals): null {
    const known = described.get(connection) ?? new Map<string, Columns>();
    described.set(connection, known);
    this.#known = known;
    const messages: Buffer[] = [];
    for (const statement of this.statements) statement.write(messages, connection, known);
    messages.push(SYNC);
    // A lost connection is reported to every query that was sent.
    if (connection.stream.writable) connection.stream.write(Buffer.concat(messages));
    return null;
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    this.statements[this.#next]?.describe({
      names: fields.map(({ name }) => name),
      parsers: fields.map(({ dataTypeID }) => this.#typeParser(dataTypeID)),
    });
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    this.statements[this.#next]?.row(fields);
  }

  handleCommandComplete({ text }: { text: string }): void {
    const statement = this.statements[this.#next++];
    const columns = statement?.complete(text);
    if (statement?.name !== undefined && columns !== undefined) this.#known.set(statement.name, columns);
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: "" });
  }

  handleReadyForQuery(): void {
    this.#settled();
    for (const statement of this.statements) statement.resolve();
  }

  /** The error of the server for one statement, or of the connection for all. */
  handleError(error: Error, connection: Internals): void {
    this.#settled();
    const failed = this.#next;
    const later = error instanceof pg.DatabaseError ? skipped(error) : error;
    for (const statement of this.statements.slice(failed)) statement.forget(connection);
    for (const [nth, statement] of this.statements.entries()) {
      if (nth < failed) statement.resolve();
      else statement.reject(nth === failed ? error : later);
    }
  }
}

// A pipelining client takes its own kind of query alone.
Object.setPrototypeOf(QueryGroup.prototype, pg.Query.prototype);
