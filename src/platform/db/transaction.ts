import { CompiledQuery } from "kysely";
import type { ControlledTransaction } from "kysely";
import { FlushMode } from "@mikro-orm/core";
import type { EntityManager, MikroORM } from "@mikro-orm/postgresql";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { isRetryable, mapFailure } from "./failure.ts";
import { tracing, withoutTrace } from "../tracing.ts";
import { insertOutbox } from "./outbox-rows.ts";
import type { OnBehalf, OutboxMessage, Tx } from "./types.ts";

const attempts = 3;

export interface TransactionDeps {
  orm: MikroORM;
  clock: Clock;
  log: Log;
  /** Called after a commit that wrote outbox rows. */
  nudge: () => void;
}

/** What a transaction gathers besides its rows. */
interface Gathered {
  messages: OutboxMessage[];
  actions: (() => void)[];
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
  const em = deps.orm.em.fork({ flushMode: FlushMode.COMMIT, useContext: false });
  const gathered: Gathered = { messages: [], actions: [] };
  onBehalf?.signal?.throwIfAborted();
  await em.begin();
  let result: T;
  try {
    const tx = createTx(em, gathered);
    result = await work(tx);
    await em.flush();
    if (gathered.messages.length > 0) await insertOutbox(tx, deps.clock, gathered.messages);
    await onBehalf?.effect?.commit(tx);
    onBehalf?.signal?.throwIfAborted();
    await em.commit();
  } catch (error) {
    // A rollback that fails has lost its connection, and with it the transaction.
    await em.rollback().catch((cause: unknown) => deps.log.debug({ err: cause }, "rollback failed"));
    throw error;
  }
  if (tracing()) withoutTrace(() => afterwards(deps, gathered));
  else afterwards(deps, gathered);
  return result;
}

function afterwards(deps: TransactionDeps, gathered: Gathered): void {
  const actions = gathered.messages.length > 0 ? [...gathered.actions, deps.nudge] : gathered.actions;
  for (const action of actions) {
    try {
      action();
    } catch (error) {
      deps.log.error({ err: error }, "an action after a commit failed");
    }
  }
}

function createTx(em: EntityManager, gathered: Gathered): Tx {
  return {
    em,
    async query<R extends object>(sql: string, params: readonly unknown[] = []): Promise<R[]> {
      const connection = em.getTransactionContext<ControlledTransaction<unknown>>();
      if (connection === undefined) throw new Error("this transaction is over");
      const answer = await connection.executeQuery<R>(CompiledQuery.raw(sql, [...params]));
      return answer.rows;
    },
    async emit(message): Promise<void> {
      gathered.messages.push(message);
      return Promise.resolve();
    },
    afterCommit(action): void {
      gathered.actions.push(action);
    },
  };
}
