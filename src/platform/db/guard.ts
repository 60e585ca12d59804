import { AsyncLocalStorage } from "node:async_hooks";
import type { Tx } from "./types.ts";

/** What code runs inside of. It is closed when that has ended, although its asynchronous context continues. */
interface Scope {
  name: string;
  open: boolean;
  /** The call has a transaction whose work is done and which still has its connection. */
  holding?: boolean;
}

/**
 * Detects misuse of the database in development and tests: every violation throws, independent of timing. Production
 * has no guard, because its asynchronous context costs time on every request.
 */
export interface Guard {
  /** Runs the work of a transaction, during which no second connection may be requested. */
  transaction<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Throws when a connection is requested inside a transaction: enough of these at once would wait for each other
   * forever.
   */
  assertNoTransaction(what: string): void;
  /**
   * Throws when a connection for transactions is requested while a call has a held transaction, that is, between the
   * transaction's work and its end.
   */
  assertNoneHeld(what: string): void;
  /** Records whether the call has a held transaction. */
  holding(held: boolean): void;
  /** Runs a call of an authenticated caller, in which every writing transaction must be passed that caller. */
  call<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Throws when a transaction of a call has written without reauthorizing its caller. */
  assertReauthorized(tx: Pick<Tx, "query">): Promise<void>;
  /** Throws for a statement that writes during a call outside transactions: it does not reauthorize the caller. */
  assertReadOnly(name: string, sql: string): void;
  /** Runs work that belongs neither to the transaction nor to the call that starts it. */
  apart<T>(work: () => T): T;
}

const WRITES = /^\s*(?:insert|update|delete)\b|\binsert into\b|\bdelete from\b|\bupdate \w+ set\b/iu;

/** Names of statements that count attempts: these are kept even when the caller has lost access. */
const COUNTS_ATTEMPTS = /^rate-/u;

/** Creates a guard with contexts of its own. */
export function createGuard(): Guard {
  const transactions = new AsyncLocalStorage<Scope>();
  const calls = new AsyncLocalStorage<Scope>();

  async function within<T>(scopes: AsyncLocalStorage<Scope>, name: string, work: () => Promise<T>): Promise<T> {
    const scope = { name, open: true };
    try {
      return await scopes.run(scope, work);
    } finally {
      scope.open = false;
    }
  }

  return {
    transaction: (work) => within(transactions, "transaction", work),
    assertNoTransaction(what) {
      if (transactions.getStore()?.open !== true) return;
      throw new Error(
        `${what} inside a transaction asks for a second connection; ask before the transaction, or use its tx`,
      );
    },
    assertNoneHeld(what) {
      const call = calls.getStore();
      if (call?.open !== true || call.holding !== true) return;
      throw new Error(
        `${call.name} asks for ${what} while its transaction waits for its end; ` +
          "read in the transaction, or by a prepared statement",
      );
    },
    holding(held) {
      const call = calls.getStore();
      if (call !== undefined) call.holding = held;
    },
    call: (name, work) => within(calls, name, work),
    async assertReauthorized(tx) {
      const call = calls.getStore();
      if (call?.open !== true) return;
      const [row] = await tx.query<{ wrote: boolean }>("select pg_current_xact_id_if_assigned() is not null as wrote");
      if (row?.wrote !== true) return;
      throw new Error(
        `${call.name} writes or locks in a transaction that was not passed its caller; ` +
          "pass the caller, or SKIP_REAUTHORIZATION for a write that must not depend on it",
      );
    },
    assertReadOnly(name, sql) {
      const call = calls.getStore();
      if (call?.open !== true || COUNTS_ATTEMPTS.test(name) || !WRITES.test(sql)) return;
      throw new Error(
        `${call.name} writes by the statement ${name} outside a transaction that reauthorizes its caller`,
      );
    },
    apart: (work) => transactions.exit(() => calls.exit(work)),
  };
}
