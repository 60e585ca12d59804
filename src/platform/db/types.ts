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
  /** MikroORM's unit of work, flushed once when the callback is done. */
  readonly em: EntityManager;
  /** Plain SQL in this transaction, `$1` parameters, snake_case columns as they are. Flush entities first if it must see them. */
  query<R extends object = Record<string, unknown>>(sql: string, params?: readonly unknown[]): Promise<R[]>;
  /** Writes an outbox row in this transaction; the dispatcher is nudged after commit. */
  emit(message: OutboxMessage): Promise<void>;
  /** Runs after a successful commit, never after a rollback. */
  afterCommit(action: () => void): void;
}

/** The database as domains see it. */
export interface Database {
  /** Runs `work` in one transaction: flush and commit when it resolves, roll back when it rejects. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Reads with a fresh identity map outside an explicit transaction. */
  read<T>(work: (em: EntityManager) => Promise<T>): Promise<T>;
  /** A prepared statement outside any transaction, for hot reads. `name` is unique per text. */
  prepared<R extends object>(name: string, sql: string, params: readonly unknown[]): Promise<R[]>;
}
