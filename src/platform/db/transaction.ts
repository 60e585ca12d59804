import { FlushMode } from "@mikro-orm/core";
import type { EntityManager, MikroORM } from "@mikro-orm/postgresql";
import type { Pool, PoolClient, QueryResult } from "pg";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { connectionOf } from "./dialect.ts";
import { isConsequence, isRetryable, isUnavailable, mapFailure } from "./failure.ts";
import { tracing, withoutTrace } from "../tracing.ts";
import { insertOutbox } from "./outbox-rows.ts";
import type { OnBehalf, OutboxMessage, Tx } from "./types.ts";

const attempts = 3;

export interface TransactionDeps {
  orm: MikroORM;
  /** Where connections for transactions come from. */
  pool: Pool;
  clock: Clock;
  log: Log;
  /** Called after a commit that wrote outbox rows. */
  nudge: () => void;
}

/** A transaction from the side of whoever ends it, and what it gathered besides its rows. */
interface Open {
  tx: Tx;
  messages: OutboxMessage[];
  actions: (() => void)[];
  /** Writes what entities have changed. */
  flush(): Promise<void>;
  /** Refuses every further statement, of entities too. */
  close(): void;
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
  onBehalf?.signal?.throwIfAborted();
  const client = await deps.pool.connect();
  const open = openOn(client, deps.orm);
  let result: T;
  try {
    await client.query("begin");
    result = await work(open.tx);
    await open.flush();
    if (open.messages.length > 0) await insertOutbox(open.tx, deps.clock, open.messages);
    await onBehalf?.effect?.commit(open.tx);
    onBehalf?.signal?.throwIfAborted();
    open.close();
    await commit(client, open.firstFailure());
  } catch (error) {
    open.close();
    await rollback(client, deps.log);
    throw isConsequence(error) ? (open.firstFailure() ?? error) : error;
  }
  client.release();
  if (tracing()) withoutTrace(() => afterwards(deps, open));
  else afterwards(deps, open);
  return result;
}

/** PostgreSQL answers COMMIT of a transaction in which a statement failed with a ROLLBACK and no error. */
async function commit(client: PoolClient, failure: unknown): Promise<void> {
  const { command } = await client.query("commit");
  if (command === "COMMIT") return;
  if (isRetryable(failure) || isUnavailable(failure)) throw failure;
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

function afterwards(deps: TransactionDeps, { messages, actions }: Open): void {
  for (const action of messages.length > 0 ? [...actions, deps.nudge] : actions) {
    try {
      action();
    } catch (error) {
      deps.log.error({ err: error }, "an action after a commit failed");
    }
  }
}

/** A transaction on a connection. Most need no entities, so the unit of work is made when it is asked for. */
function openOn(client: PoolClient, orm: MikroORM): Open {
  const messages: OutboxMessage[] = [];
  const actions: (() => void)[] = [];
  let em: EntityManager | undefined;
  let over = false;
  let failure: unknown;
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
      em.setTransactionContext(connectionOf(Object.create(client, { query: { value: send }, release: { value: () => undefined } }) as PoolClient));
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
    afterCommit(action): void {
      actions.push(action);
    },
  };
  return {
    tx,
    messages,
    actions,
    flush: async () => em?.flush(),
    close(): void {
      over = true;
    },
    firstFailure: () => failure,
  };
}

const isOver = (): Error => new Error("this transaction is over");
