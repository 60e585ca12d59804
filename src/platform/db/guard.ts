import { AsyncLocalStorage } from "node:async_hooks";
import type { Tx } from "./types.ts";

/** What something runs inside of; it no longer does once that is over, although its asynchronous context lives on. */
interface Scope {
  name: string;
  open: boolean;
  /** A call has a transaction whose work is done, and which still has its connection. */
  holding?: boolean;
}

/**
 * Finds wrong uses of the database in development and tests: every violation is an error, whatever the timing.
 * Production has no guard, because the context it needs costs time on every request.
 */
export interface Guard {
  /** Runs the work of a transaction, in which no second connection may be asked for. */
  transaction<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Throws when a connection is asked for inside a transaction: enough of them at once would wait for each other for
   * ever.
   */
  demandFree(what: string): void;
  /**
   * The same, of connections for transactions, while a call holds one: for what is done between a transaction's work
   * and its end.
   */
  demandNoneHeld(what: string): void;
  /** Notes that a call holds a transaction from now on, or holds it no longer. */
  holding(held: boolean): void;
  /** Runs a call of an authenticated caller, in which every transaction that writes must be passed that caller. */
  call<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Throws when a transaction of a call has written without judging its caller. */
  demandJudged(tx: Pick<Tx, "query">): Promise<void>;
  /** Throws for a statement outside transactions that writes during a call: nothing judges the caller with it. */
  demandReading(name: string, sql: string): void;
  /** Runs what is no part of the transaction and of the call that it is started from. */
  apart<T>(work: () => T): T;
}

const writes = /^\s*(?:insert|update|delete)\b|\binsert into\b|\bdelete from\b|\bupdate \w+ set\b/iu;

/** What counts tries: it must stay, whatever becomes of the caller. */
const counts = /^rate-/u;

/** Builds a guard; it has contexts of its own. */
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
    demandFree(what) {
      if (transactions.getStore()?.open !== true) return;
      throw new Error(
        `${what} inside a transaction asks for a second connection; ask before the transaction, or use its tx`,
      );
    },
    demandNoneHeld(what) {
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
    async demandJudged(tx) {
      const call = calls.getStore();
      if (call?.open !== true) return;
      const [row] = await tx.query<{ wrote: boolean }>("select pg_current_xact_id_if_assigned() is not null as wrote");
      if (row?.wrote !== true) return;
      throw new Error(
        `${call.name} writes or locks in a transaction that was not passed its caller; ` +
          "pass the caller, or ofRefusal for what must stay",
      );
    },
    demandReading(name, sql) {
      const call = calls.getStore();
      if (call?.open !== true || counts.test(name) || !writes.test(sql)) return;
      throw new Error(`${call.name} writes by the statement ${name} outside a transaction that judges its caller`);
    },
    apart: (work) => transactions.exit(() => calls.exit(work)),
  };
}
