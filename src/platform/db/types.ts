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
   * Plain SQL in this transaction, `$1` parameters, snake_case columns as they are. Flush entities first if it must see
   * them. Statements sent without waiting for one another travel together and run in the order they were sent in.
   */
  query<R extends object = Record<string, unknown>>(sql: string, params?: readonly unknown[]): Promise<R[]>;
  /** Writes an outbox row in this transaction; the dispatcher is nudged after commit. */
  emit(message: OutboxMessage): Promise<void>;
  /** After a successful commit, wakes the listeners of this process that `OpenDatabase.onWake` has for the name. */
  wake(name: string): void;
  /** Runs after a successful commit, never after a rollback. */
  afterCommit(action: () => void): void;
  /**
   * Judges the caller now instead of before COMMIT, and locks what they stand on for a change. To be called before this
   * transaction ends or lessens a credential or a membership: it may be the caller's own, which would then no longer
   * hold at COMMIT. Throws `unauthorized`.
   */
  judge(): Promise<void>;
}

/**
 * Judges a caller in the transaction that writes for them. Rejects where the credential has ended, or its power has
 * become less, since it was authenticated. What it looked at is locked until the transaction ends: `keep` beside other
 * transactions of the caller, `change` against them too. So a removal waits for the writes that came before it, and
 * those that come later see it.
 */
export type Judge = (tx: Pick<Tx, "query">, how: "keep" | "change") => Promise<void>;

/** A transaction whose work is done and that waits for its end, on the connection it has. */
export interface HeldTransaction {
  /** A last statement of it. */
  query: Tx["query"];
  /** Rejects when it was rolled back, as `Database.transaction` does. */
  commit(): Promise<void>;
  /** Ends it without a trace, unless it is over. Never rejects. */
  rollback(): Promise<void>;
}

/** Takes over the end of a transaction: what the request is answered becomes part of it. */
export interface Effect {
  /**
   * Called last before COMMIT. `Database.transaction` then resolves with the work done and nothing committed; whoever
   * holds the transaction ends it when the answer is there. False: it is to be committed as usual.
   */
  hold(transaction: HeldTransaction): boolean;
}

/** Whoever a transaction is run for; a `Caller` is one, and so is a `RequestInfo` where there is no caller. */
export interface OnBehalf {
  /** Set when the request carries an Idempotency-Key. */
  readonly effect?: Effect | undefined;
  /** Set when the request carries a deadline. Once it is aborted nothing more is committed. */
  readonly signal?: AbortSignal | undefined;
  /** Set where a caller is authenticated; runs last before COMMIT, unless `Tx.judge` came first. */
  readonly judge?: Judge | undefined;
  /**
   * Whose share of the connections is used outside of requests: the organization's, else the principal's or the
   * address's.
   */
  readonly orgUuid?: string | null | undefined;
  readonly principal?: { readonly id: string } | undefined;
  /** Nobody is to be judged. */
  readonly regardless?: true | undefined;
}

/**
 * For a transaction that records a refusal: it commits whatever has become of the caller, and spends no
 * Idempotency-Key.
 */
export const ofRefusal: OnBehalf = { regardless: true };
/** The same for the service's own housekeeping, which a call may set off. */
export const ofService: OnBehalf = ofRefusal;

/** The database as domains see it. */
export interface Database {
  /**
   * Runs `work` in one transaction: flush and commit when it resolves, roll back when it rejects.
   *
   * After a deadlock, a serialization failure or a lost optimistic lock, `work` runs again from its start
   * (three times at most), on a fresh EntityManager: it must touch the outside world only through `tx`.
   * Without the database, or when it is too slow, the error is `unavailable` (503).
   *
   * Pass the caller as `onBehalf` to every transaction that writes for them: it commits only while the caller still has
   * the credential and the power they were authenticated with, else it rejects with `unauthorized`. With an
   * Idempotency-Key it is the one transaction of the request and is committed together with the answer, once the
   * handler has returned that: what comes after it in the handler must neither ask the database nor expect others to
   * see the effect. Pass `ofRefusal` where a refusal is recorded. Pass the request info of a public rpc in its place:
   * for both, a deadline that passes before COMMIT rolls back and rejects with the signal's reason.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>, onBehalf?: OnBehalf): Promise<T>;
  /** Reads with a fresh identity map outside an explicit transaction. */
  read<T>(work: (em: EntityManager) => Promise<T>): Promise<T>;
  /**
   * A prepared statement outside any transaction, on connections of its own: hot reads, and writes of one statement.
   * `name` is unique per text. `bigint` and `numeric` come as strings, `timestamptz` as Date, `date` as text.
   */
  prepared<R extends object>(name: string, sql: string, params: readonly unknown[]): Promise<R[]>;
  /**
   * The same on connections of its own, for finding out who calls: no request and no backlog keeps others waiting
   * there.
   */
  identifying<R extends object>(name: string, sql: string, params: readonly unknown[]): Promise<R[]>;
  /**
   * The same on connections for open streams alone: however many watch, requests do not wait for them, nor for one
   * another.
   */
  watching<R extends object>(name: string, sql: string, params: readonly unknown[]): Promise<R[]>;
  /**
   * The same database for work in the background: its statements and transactions have connections of their own, so
   * that no backlog keeps a request waiting for one.
   */
  readonly background: Database;
}
