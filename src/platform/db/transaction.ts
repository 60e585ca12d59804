import { FlushMode } from "@mikro-orm/core";
import type { EntityManager, MikroORM } from "@mikro-orm/postgresql";
import type { PoolClient } from "pg";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { connectionOf } from "./dialect.ts";
import type { Guard } from "./guard.ts";
import { isConsequence, isReadOnly, isRefused, isRetryable, isUnavailable, mapFailure } from "./failure.ts";
import { tracing, withoutTrace } from "../tracing.ts";
import { insertOutbox } from "./outbox-rows.ts";
import type { PoolQuota } from "./pool-quota.ts";
import { combined } from "./reauthorization.ts";
import { alreadyEnded, createStatements } from "./statements.ts";
import type { Statements } from "./statements.ts";
import type { HeldTransaction, Reauthorize, Requester, OutboxMessage, Tx } from "./types.ts";

const MAX_ATTEMPTS = 3;

/** Name of the listeners called after a commit that wrote outbox rows. */
export const OUTBOX = "outbox";

export interface TransactionDeps {
  orm: MikroORM;
  /** Source of connections for transactions. */
  quota: PoolQuota;
  clock: Clock;
  log: Log;
  /** Called after a commit with each name given to `Tx.wake`, and with `OUTBOX` if outbox rows were written. */
  wake: (name: string) => void;
  /** Set in development and tests. */
  guard: Guard | undefined;
}

/** A transaction as the code that ends it sees it, with what it has collected besides its rows. */
interface Open {
  tx: Tx;
  messages: OutboxMessage[];
  /** Names of the listeners to call after the commit. */
  wakes: Set<string>;
  /** Writes the changes of entities. */
  flush(): Promise<void>;
  statements: Statements;
  /** Reauthorizes the caller unless that has been done. @returns what is to be awaited before COMMIT, if anything */
  reauthorizeBeforeCommit(): Promise<void> | undefined;
}

/** Creates `Database.transaction`, which documents the contract. */
export function createTransaction(deps: TransactionDeps) {
  return async function transaction<T>(work: (tx: Tx) => Promise<T>, requester?: Requester): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(deps, work, requester);
      } catch (error) {
        if (attempt >= MAX_ATTEMPTS || !isRetryable(error)) throw mapFailure(error);
        deps.log.debug({ err: error, attempt }, "a transaction is retried");
      }
    }
  };
}

async function once<T>(deps: TransactionDeps, work: (tx: Tx) => Promise<T>, requester?: Requester): Promise<T> {
  const { guard } = deps;
  requester?.signal?.throwIfAborted();
  guard?.assertNoTransaction("a transaction");
  guard?.assertNoneHeld("a transaction");
  const client = await deps.quota.connect(requester);
  const open = openTransaction(client, deps.orm, requester?.reauthorize);
  let result: T;
  try {
    result = guard === undefined ? await work(open.tx) : await guard.transaction(() => work(open.tx));
    await open.flush();
    if (open.messages.length > 0) insertOutbox(open.tx, deps.clock, open.messages);
    if (requester?.reauthorize === undefined && requester?.skipReauthorization === undefined)
      await guard?.assertReauthorized(open.tx);
    if (requester?.effect !== undefined) await open.statements.settle();
    if (requester?.effect?.hold(held(deps, client, open, requester)) === true) {
      guard?.holding(true);
      return result;
    }
    await finish(deps, client, open, requester);
  } catch (error) {
    throw await rollBackAfter(deps, client, open, error);
  }
  return result;
}

/** Commits, releases the connection and calls the listeners that wait for the commit. */
async function finish(deps: TransactionDeps, client: PoolClient, open: Open, requester?: Requester): Promise<void> {
  await end(open, requester?.signal);
  const { guard } = deps;
  client.release();
  if (guard !== undefined) guard.apart(() => withoutTrace(() => wakeAll(deps, open)));
  else if (tracing()) withoutTrace(() => wakeAll(deps, open));
  else wakeAll(deps, open);
}

/** Rolls back. @returns the error that caused it */
async function rollBackAfter(deps: TransactionDeps, client: PoolClient, open: Open, error: unknown): Promise<unknown> {
  await rollback(client, open, deps.log);
  return isConsequence(error) ? (open.statements.failure ?? error) : error;
}

/** Wraps a transaction that other code will end. */
function held(deps: TransactionDeps, client: PoolClient, open: Open, requester: Requester): HeldTransaction {
  let over: Promise<void> | undefined;
  async function commitHeld(): Promise<void> {
    try {
      await finish(deps, client, open, requester);
    } catch (error) {
      throw mapFailure(await rollBackAfter(deps, client, open, error));
    }
  }
  return {
    query: open.tx.query,
    commit: () => (over ??= commitHeld()),
    // A commit that failed has rolled back.
    rollback: () => (over ??= rollback(client, open, deps.log)).catch(() => undefined),
  };
}

/**
 * Sends what was deferred, the reauthorization of the caller and COMMIT together. If a statement of the transaction
 * failed, such as the reauthorization, PostgreSQL skips COMMIT, or responds to it with ROLLBACK and without an error.
 */
async function end(open: Open, signal: AbortSignal | undefined): Promise<void> {
  const { statements } = open;
  signal?.throwIfAborted();
  await open.reauthorizeBeforeCommit();
  // Without a statement there is nothing to commit.
  if (statements.count === 0) return statements.close();
  // Statements may wait for a lock, and the deadline may pass meanwhile.
  if (signal !== undefined) {
    await statements.settle();
    signal.throwIfAborted();
  }
  const ignored = statements.failure;
  try {
    if ((await statements.commit()) === "COMMIT") return;
  } catch (error) {
    if (ignored === undefined || !isConsequence(error)) throw error;
  }
  const { failure } = statements;
  if (isRetryable(failure) || isUnavailable(failure) || isRefused(failure)) throw failure;
  throw new Error("the transaction was rolled back: a statement in it had failed", { cause: failure });
}

/**
 * Rolls back and releases the connection. If that fails, the connection is lost, and the transaction with it. One that
 * only reads is closed: others may lead to a server that writes.
 */
async function rollback(client: PoolClient, { statements }: Open, log: Log): Promise<void> {
  statements.close();
  if (!statements.isSent) return client.release();
  try {
    await client.query("rollback");
    client.release(isReadOnly(statements.failure));
  } catch (error) {
    log.debug({ err: error }, "rollback failed");
    client.release(true);
  }
}

function wakeAll(deps: TransactionDeps, { messages, wakes }: Open): void {
  if (messages.length > 0) wakes.add(OUTBOX);
  for (const name of wakes) {
    try {
      deps.wake(name);
    } catch (error) {
      deps.log.error({ err: error, name }, "a listener after a commit failed");
    }
  }
}

/** Opens a transaction on a connection. The unit of work is created on first use: most need no entities. */
function openTransaction(client: PoolClient, orm: MikroORM, reauthorize: Requester["reauthorize"]): Open {
  const statements = createStatements(client);
  const messages: OutboxMessage[] = [];
  const wakes = new Set<string>();
  let em: EntityManager | undefined;
  let reauthorization: Promise<void> | undefined;
  /** Whether every check of a caller has sent its statement. */
  let areChecksSent = true;

  const tx: Tx = {
    get em(): EntityManager {
      if (em !== undefined) return em;
      if (statements.isClosed) throw alreadyEnded();
      em = orm.em.fork({ flushMode: FlushMode.COMMIT, useContext: false });
      const borrowed = Object.create(client, {
        query: { value: statements.send },
        release: { value: () => undefined },
      }) as PoolClient;
      em.setTransactionContext(connectionOf({ connect: () => Promise.resolve(borrowed) }));
      return em;
    },
    query: (sql, params = []) => statements.query(sql, params),
    defer: (sql, params = [], then) => statements.defer(sql, params, then),
    async emit(message): Promise<void> {
      messages.push(message);
      return Promise.resolve();
    },
    wake(name): void {
      wakes.add(name);
    },
    reauthorize: (how = "change") => startReauthorization(how) ?? Promise.resolve(),
  };

  function startReauthorization(how: "keep" | "change"): Promise<void> | undefined {
    if (reauthorize === undefined) return undefined;
    const start = (check: Reauthorize): Promise<void> => {
      const { count } = statements;
      const checked = check(tx, how);
      areChecksSent &&= statements.count > count;
      return checked;
    };
    reauthorization ??=
      typeof reauthorize === "function"
        ? start(reauthorize)
        : Promise.all(combined(reauthorize).map(start)).then(() => undefined);
    reauthorization.catch(() => undefined);
    return reauthorization;
  }

  return {
    tx,
    messages,
    wakes,
    statements,
    flush: async () => em?.flush(),
    reauthorizeBeforeCommit() {
      if (reauthorization !== undefined) return undefined;
      const started = startReauthorization("keep");
      // Its statements travel with COMMIT. If one is not sent yet, COMMIT waits for all.
      return areChecksSent ? undefined : started;
    },
  };
}
