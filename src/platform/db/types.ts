import type { EntityManager } from "@mikro-orm/postgresql";

/** A topic of the outbox and its payload; domains declare theirs in `events.ts`. */
export interface OutboxMessage {
  topic: string;
  /** JSON value. Secrets in it must be sealed. */
  payload: Readonly<Record<string, unknown>>;
  /** Not before this time. Default: now. */
  availableAt?: Date;
  /** The dispatcher deletes the row after this time. Default: never. */
  expiresAt?: Date;
}

/** One transaction. Passed explicitly, never ambient, not nested. */
export interface Tx {
  /** MikroORM's unit of work, created on first use and flushed once when the callback has resolved. */
  readonly em: EntityManager;
  /**
   * Runs SQL in this transaction, with `$1` parameters; column names are returned unchanged. Flush entities first if it
   * must see them. Statements sent without waiting for each other travel together and run in the order they were sent;
   * when one fails, those behind it are skipped.
   */
  query<R extends object = Record<string, unknown>>(sql: string, params?: readonly unknown[]): Promise<R[]>;
  /**
   * Sends a statement whose result the work does not need, in one round trip with the next statement or with COMMIT.
   * Its failure is that of the transaction, which rejects with it: map constraint errors around `transaction`.
   * `then` is called with its rows before the transaction resolves; it must not throw.
   */
  defer<R extends object = Record<string, unknown>>(
    sql: string,
    params?: readonly unknown[],
    then?: (rows: R[]) => void,
  ): void;
  /** Writes an outbox row in this transaction; the dispatcher is woken after the commit. */
  emit(message: OutboxMessage): Promise<void>;
  /**
   * After a successful commit, never after a rollback, calls the listeners of this process registered by
   * `OpenDatabase.onWake`.
   */
  wake(name: string): void;
  /**
   * Reauthorizes the caller now instead of before COMMIT, and locks their credential and membership, by default for a
   * change. Call it before this transaction ends or reduces a credential or membership: that may be the caller's own,
   * with which the check before COMMIT would fail. With `keep`, call it before this transaction locks what a change of
   * a membership waits for. The first call decides how.
   * @throws {unauthorized} when the caller no longer has the authenticated credential and power
   */
  reauthorize(how?: "keep" | "change"): Promise<void>;
}

/**
 * Checks a caller again in the transaction that writes for them. Rejects when the credential has ended or its power was
 * reduced since it was authenticated. Locks the rows it read until the transaction ends: with `keep` in shared mode,
 * with `change` exclusively. A removal therefore waits for earlier writes, and later writes see it.
 */
export interface Reauthorize {
  (tx: Pick<Tx, "query">, how: "keep" | "change"): Promise<void>;
  /** The same check by a statement that checks several callers. */
  readonly joint?: JointCheck;
}

/** A check of a caller as a row of a statement. */
export interface JointCheck {
  /** Takes an array for each member of the rows, and fails unless every row passes; one text for each kind of check. */
  readonly sql: string;
  row(how: "keep" | "change"): readonly unknown[];
}

/** A transaction whose work is done and which keeps its connection until it is committed or rolled back. */
export interface HeldTransaction {
  /** Runs a further statement in it. */
  query: Tx["query"];
  /** Rejects as `Database.transaction` does when the transaction was rolled back. */
  commit(): Promise<void>;
  /** Rolls back, unless the transaction has ended. Never rejects. */
  rollback(): Promise<void>;
}

/** Takes over the end of a transaction, so that the response to the request is stored in it. */
export interface Effect {
  /**
   * Called last before COMMIT. When it returns true, `Database.transaction` resolves with the work done and nothing
   * committed, and the callee ends the transaction when the response is known. False: commit as usual.
   */
  hold(transaction: HeldTransaction): boolean;
}

/** On whose behalf a transaction runs: a `Caller`, or a `RequestInfo` when there is no caller. */
export interface Requester {
  /** Set when the request carries an Idempotency-Key. */
  readonly effect?: Effect | undefined;
  /** Set when the request has a deadline. Nothing is committed after it is aborted. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Set for an authenticated caller, or for each of several; runs last before COMMIT, unless `Tx.reauthorize` was
   * called before.
   */
  readonly reauthorize?: Reauthorize | readonly Reauthorize[] | undefined;
  /**
   * Owner of the connection quota outside requests: the organization, otherwise the principal.
   */
  readonly orgUuid?: string | null | undefined;
  readonly principal?: { readonly id: string } | undefined;
  /** See {@link SKIP_REAUTHORIZATION}. */
  readonly skipReauthorization?: true | undefined;
}

/**
 * For a transaction that must commit even if the caller has lost access: the record of a failure, or housekeeping that
 * a call triggers. It does not count as the effect of an Idempotency-Key.
 */
export const SKIP_REAUTHORIZATION: Requester = { skipReauthorization: true };

/** The database as domains see it. */
export interface Database {
  /**
   * Runs `work` in one transaction: flush and commit when it resolves, roll back when it rejects.
   *
   * After a deadlock, a serialization failure or a failed optimistic lock, `work` runs again from its start with a new
   * EntityManager, three times at most. It must therefore have no effect other than through `tx`.
   *
   * Pass the caller as `requester` to every transaction that writes for them: it commits only while the caller still
   * has the credential and power they were authenticated with. In a public rpc, pass the request info. With either, a
   * deadline that passes before COMMIT rolls back and rejects with the signal's reason. Pass `SKIP_REAUTHORIZATION` to
   * record a failure.
   *
   * With an Idempotency-Key it is the only transaction of the request, and it is committed together with the response
   * after the handler has returned. Code after it in the handler must neither use the database nor rely on others
   * seeing the effect.
   *
   * @throws {unauthorized} when the caller has lost the credential or power
   * @throws {unavailable} when the database is unavailable or too slow
   */
  transaction<T>(work: (tx: Tx) => Promise<T>, requester?: Requester): Promise<T>;
  /** Reads with a fresh identity map outside an explicit transaction. */
  read<T>(work: (em: EntityManager) => Promise<T>): Promise<T>;
  /**
   * Runs a prepared statement outside transactions, on a separate pool: for frequent reads and single-statement writes.
   * `name` is unique per text. Returns `bigint` and `numeric` as strings, `timestamptz` as Date, `date` as text.
   */
  prepared<R extends object>(name: string, sql: string, params: readonly unknown[]): Promise<R[]>;
  /**
   * As `prepared`, on a separate pool for authentication, so that neither requests nor backlogs delay it.
   */
  identifying<R extends object>(name: string, sql: string, params: readonly unknown[]): Promise<R[]>;
  /**
   * As `prepared`, on a separate pool for open streams, so that any number of them does not delay requests.
   */
  watching<R extends object>(name: string, sql: string, params: readonly unknown[]): Promise<R[]>;
  /**
   * The same database for background work, on a separate pool, so that no backlog delays requests.
   */
  readonly background: Database;
}
