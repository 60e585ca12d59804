import type { EntityManager } from "@mikro-orm/postgresql";

/** A topic of the outbox and its payload; domains declare theirs in `events.ts`. */
export interface OutboxMessage {
  topic: string;
  /** JSON value. Secrets in it must be sealed. */
  payload: Readonly<Record<string, unknown>>;
  /** Not before this time. Default: now. */
  availableAt?: Date;
  /** Dispatcher gives up after this time and drops the row. Default: never. */
  expiresAt?: Date;
}

/** One transaction. Passed explicitly, never ambient, not nested. */
export interface Tx {
  /** MikroORM's unit of work, made when it is first asked for and flushed once when the callback is done. */
  readonly em: EntityManager;
  /**
   * Plain SQL in this transaction, `$1` parameters, snake_case columns as they are. Flush entities first if it must see them.
   * Statements sent without waiting for one another travel together and run in the order they were sent in.
   */
  query<R extends object = Record<string, unknown>>(sql: string, params?: readonly unknown[]): Promise<R[]>;
  /** Writes an outbox row in this transaction; the dispatcher is nudged after commit. */
  emit(message: OutboxMessage): Promise<void>;
  /** Runs after a successful commit, never after a rollback. */
  afterCommit(action: () => void): void;
}

/** What must become true in the very transaction of an effect: the idempotency record of its request. */
export interface Effect {
  /** Called after the flush, last before COMMIT; what it throws rolls the transaction back. */
  commit(tx: Tx): Promise<void>;
}

/** Whoever a transaction is run for; a `Caller` is one, and so is a `RequestInfo` where there is no caller. */
export interface OnBehalf {
  /** Set when the request carries an Idempotency-Key. */
  readonly effect?: Effect | undefined;
  /** Set when the request carries a deadline. Once it is aborted nothing more is committed. */
  readonly signal?: AbortSignal | undefined;
}

/** The database as domains see it. */
export interface Database {
  /**
   * Runs `work` in one transaction: flush and commit when it resolves, roll back when it rejects.
   *
   * After a deadlock, a serialization failure or a lost optimistic lock, `work` runs again from its start
   * (three times at most), on a fresh EntityManager: it must touch the outside world only through `tx`.
   * Without the database, or when it is too slow, the error is `unavailable` (503).
   *
   * Pass the caller as `onBehalf` to the one transaction that makes a POST's effect, so that its
   * Idempotency-Key is spent in that transaction; not to transactions that record a refusal. Pass the request info of a
   * public rpc in its place: for both, a deadline that passes before COMMIT rolls back and rejects with the signal's reason.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>, onBehalf?: OnBehalf): Promise<T>;
  /** Reads with a fresh identity map outside an explicit transaction. */
  read<T>(work: (em: EntityManager) => Promise<T>): Promise<T>;
  /**
   * A prepared statement outside any transaction, on connections of its own: hot reads, and writes of one statement.
   * `name` is unique per text. `bigint` and `numeric` come as strings, `timestamptz` as Date, `date` as text.
   */
  prepared<R extends object>(name: string, sql: string, params: readonly unknown[]): Promise<R[]>;
}
