import { FlushMode } from "@mikro-orm/core";
import type { EntityManager, MikroORM } from "@mikro-orm/postgresql";
import type { PoolClient, QueryResult } from "pg";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { connectionOf } from "./dialect.ts";
import type { Guard } from "./guard.ts";
import { isConsequence, isRefused, isRetryable, isUnavailable, mapFailure } from "./failure.ts";
import { tracing, withoutTrace } from "../tracing.ts";
import { insertOutbox } from "./outbox-rows.ts";
import type { Shares } from "./shares.ts";
import type { HeldTransaction, Judge, OnBehalf, OutboxMessage, Tx } from "./types.ts";

const attempts = 3;

/** Whom a commit that wrote outbox rows wakes. */
export const OUTBOX = "outbox";

export interface TransactionDeps {
  orm: MikroORM;
  /** Where connections for transactions come from. */
  shares: Shares;
  clock: Clock;
  log: Log;
  /** Called after a commit, with each name the transaction asked to wake; `OUTBOX` where it wrote outbox rows. */
  wake: (name: string) => void;
  /** In development and tests. */
  guard: Guard | undefined;
}

/** A transaction from the side of whoever ends it, and what it gathered besides its rows. */
interface Open {
  tx: Tx;
  messages: OutboxMessage[];
  actions: (() => void)[];
  /** Whom to wake after the commit. */
  wakes: Set<string>;
  /** Writes what entities have changed. */
  flush(): Promise<void>;
  /** Refuses every further statement, of entities too. */
  close(): void;
  /** Judges the caller, once; undefined where that has been done, or there is none. */
  lastJudgement(): Promise<void> | undefined;
  /** Of several statements that failed, the first: it made the others fail. */
  firstFailure(): unknown;
}

/** Makes `Database.transaction`; its contract is described there. */
export function createTransaction(deps: TransactionDeps) {
  return async function transaction<T>(work: (tx: Tx) => Promise<T>, onBehalf?: OnBehalf): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(deps, work, onBehalf);
      } catch (error) {
        if (attempt >= attempts || !isRetryable(error)) throw mapFailure(error);
        deps.log.debug({ err: error, attempt }, "transaction runs again");
      }
    }
  };
}

async function once<T>(deps: TransactionDeps, work: (tx: Tx) => Promise<T>, onBehalf?: OnBehalf): Promise<T> {
  const { guard } = deps;
  onBehalf?.signal?.throwIfAborted();
  guard?.demandFree("a transaction");
  guard?.demandNoneHeld("a transaction");
  const client = await deps.shares.connect(onBehalf);
  const open = openOn(client, deps.orm, onBehalf?.judge);
  let result: T;
  try {
    // The first statement does not wait for the answer to `begin`, which PostgreSQL takes before it.
    const begun = client.query("begin");
    begun.catch(() => undefined);
    result = guard === undefined ? await work(open.tx) : await guard.transaction(() => work(open.tx));
    await begun;
    await open.flush();
    if (open.messages.length > 0) await insertOutbox(open.tx, deps.clock, open.messages);
    if (onBehalf?.judge === undefined && onBehalf?.regardless === undefined) await guard?.demandJudged(open.tx);
    if (onBehalf?.effect?.hold(held(deps, client, open, onBehalf)) === true) {
      guard?.holding(true);
      return result;
    }
    await finish(deps, client, open, onBehalf);
  } catch (error) {
    throw await failed(deps, client, open, error);
  }
  return result;
}

/** Commits, gives the connection back and does what waits for the commit. */
async function finish(deps: TransactionDeps, client: PoolClient, open: Open, onBehalf?: OnBehalf): Promise<void> {
  await end(client, open, onBehalf?.signal);
  const { guard } = deps;
  client.release();
  if (guard !== undefined) guard.apart(() => withoutTrace(() => afterwards(deps, open)));
  else if (tracing()) withoutTrace(() => afterwards(deps, open));
  else afterwards(deps, open);
}

/** Rolls back; the error that tells why it came to that. */
async function failed(deps: TransactionDeps, client: PoolClient, open: Open, error: unknown): Promise<unknown> {
  open.close();
  await rollback(client, deps.log);
  return isConsequence(error) ? (open.firstFailure() ?? error) : error;
}

/** A transaction for somebody else to end. */
function held(deps: TransactionDeps, client: PoolClient, open: Open, onBehalf: OnBehalf): HeldTransaction {
  let over: Promise<void> | undefined;
  async function commitHeld(): Promise<void> {
    try {
      await finish(deps, client, open, onBehalf);
    } catch (error) {
      throw mapFailure(await failed(deps, client, open, error));
    }
  }
  async function rollBackHeld(): Promise<void> {
    open.close();
    await rollback(client, deps.log);
  }
  return {
    query: open.tx.query,
    commit: () => (over ??= commitHeld()),
    // A commit that failed has rolled back.
    rollback: () => (over ??= rollBackHeld()).catch(() => undefined),
  };
}

/**
 * The last judgement of the caller and COMMIT travel together. PostgreSQL answers COMMIT of a transaction in which a
 * statement failed, the judgement among them, with a ROLLBACK and no error.
 */
async function end(client: PoolClient, open: Open, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const judged = open.lastJudgement();
  // It may wait for a removal under way, and the deadline may pass meanwhile.
  if (signal !== undefined && judged !== undefined) {
    await judged;
    signal.throwIfAborted();
  }
  open.close();
  const { command } = await client.query("commit");
  if (command === "COMMIT") return;
  const failure = open.firstFailure();
  if (isRetryable(failure) || isUnavailable(failure) || isRefused(failure)) throw failure;
  throw new Error("the transaction was rolled back: a statement in it had failed", { cause: failure });
}

/** Gives the connection back. One that cannot roll back has been lost, and the transaction with it. */
async function rollback(client: PoolClient, log: Log): Promise<void> {
  try {
    await client.query("rollback");
    client.release();
  } catch (error) {
    log.debug({ err: error }, "rollback failed");
    client.release(true);
  }
}

function afterwards(deps: TransactionDeps, { messages, actions, wakes }: Open): void {
  if (messages.length > 0) wakes.add(OUTBOX);
  for (const name of wakes) actions.push(() => deps.wake(name));
  for (const action of actions) {
    try {
      action();
    } catch (error) {
      deps.log.error({ err: error }, "an action after a commit failed");
    }
  }
}

/** A transaction on a connection. Most need no entities, so the unit of work is made when it is asked for. */
function openOn(client: PoolClient, orm: MikroORM, judge: Judge | undefined): Open {
  const messages: OutboxMessage[] = [];
  const actions: (() => void)[] = [];
  const wakes = new Set<string>();
  let em: EntityManager | undefined;
  let over = false;
  let failure: unknown;
  let judgement: Promise<void> | undefined;
  /** Every statement of the transaction goes this way, so that none goes when it is over: it would be outside of it. */
  function send<R extends object>(sql: string, params: unknown[]): Promise<QueryResult<R>> {
    if (over) return Promise.reject(isOver());
    const answer = client.query<R>(sql, params);
    answer.catch((error: unknown) => (failure ??= error));
    return answer;
  }

  const tx: Tx = {
    get em(): EntityManager {
      if (em !== undefined) return em;
      if (over) throw isOver();
      em = orm.em.fork({ flushMode: FlushMode.COMMIT, useContext: false });
      const borrowed = Object.create(client, {
        query: { value: send },
        release: { value: () => undefined },
      }) as PoolClient;
      em.setTransactionContext(connectionOf({ connect: () => Promise.resolve(borrowed) }));
      return em;
    },
    query<R extends object>(sql: string, params: readonly unknown[] = []): Promise<R[]> {
      const rows = send<R>(sql, params as unknown[]).then((result) => result.rows);
      // Work that looks at it late, or never, must not end the process: it cannot commit any more.
      rows.catch(() => undefined);
      return rows;
    },
    async emit(message): Promise<void> {
      messages.push(message);
      return Promise.resolve();
    },
    wake(name): void {
      wakes.add(name);
    },
    afterCommit(action): void {
      actions.push(action);
    },
    judge: () => judged("change") ?? Promise.resolve(),
  };

  function judged(how: "keep" | "change"): Promise<void> | undefined {
    if (judge === undefined) return undefined;
    judgement ??= judge(tx, how);
    judgement.catch(() => undefined);
    return judgement;
  }

  return {
    tx,
    messages,
    actions,
    wakes,
    flush: async () => em?.flush(),
    lastJudgement: () => (judgement === undefined ? judged("keep") : undefined),
    close(): void {
      over = true;
    },
    firstFailure: () => failure,
  };
}

const isOver = (): Error => new Error("this transaction is over");
