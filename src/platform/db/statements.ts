import type { PoolClient } from "pg";
import { tracing, withSpan } from "../tracing.ts";
import { groupedStatement, nameOf, sendGroup, SPAN_ATTRIBUTES } from "./connection.ts";
import type { Answer, GroupedStatement } from "./patches/pg-query-group.ts";

/** The statements of one transaction, which begins with the first of them. */
export interface Statements {
  /** Sends a statement with all that are sent in the same turn of the event loop, in one round trip. */
  send<R extends object>(sql: string, params: readonly unknown[]): Promise<Answer<R>>;
  /** As `send`, for the rows alone. A rejection that nobody handles does not end the process. */
  query<R extends object>(sql: string, params: readonly unknown[]): Promise<R[]>;
  /** Sends a statement with the next one that is sent, or with COMMIT; `then` must not throw. */
  defer<R extends object>(sql: string, params: readonly unknown[], then?: (rows: R[]) => void): void;
  /** Sends what waits, and resolves when every statement is settled. @throws the first failure */
  settle(): Promise<void>;
  /** Sends what waits and COMMIT; no statement can follow. Resolves to the command that the server has executed. */
  commit(): Promise<string>;
  /** Makes every further statement fail, and those that wait. */
  close(): void;
  readonly isClosed: boolean;
  /** Number of statements so far. */
  readonly count: number;
  /** Whether the transaction may have begun. */
  readonly isSent: boolean;
  /** The first failure, of which later ones are consequences. */
  readonly failure: unknown;
}

/** Creates the statements of a transaction on a connection that has none. */
export function createStatements(client: PoolClient): Statements {
  let waiting: GroupedStatement[] = [];
  /** BEGIN is sent with the first group. Until it has succeeded no other is: that would run outside the transaction. */
  let isSent = false;
  let isBegun = false;
  let isScheduled = false;
  /** Makes the error of further statements, once none is accepted. */
  let closed: (() => Error) | undefined;
  let failure: unknown;
  /** A statement had a value that could not be sent: the server does not know that it has failed. */
  let unsendable: Error | undefined;
  let count = 0;
  let inFlight = 0;
  let whenIdle: (() => void)[] = [];

  function push<R extends object>(
    sql: string,
    params: readonly unknown[],
    resolve: (answer: Answer<R>) => void,
    reject: (error: unknown) => void,
  ): void {
    const fail = (error: unknown): void => {
      failure ??= error;
      reject(error);
    };
    if (closed !== undefined) return reject(closed());
    count++;
    try {
      waiting.push(groupedStatement<R>(sql, params, { resolve, reject: fail }));
    } catch (error) {
      unsendable ??= error as Error;
      fail(error);
    }
  }

  function add<R extends object, T>(sql: string, params: readonly unknown[], pick: (answer: Answer<R>) => T) {
    const run = (): Promise<T> =>
      new Promise((resolve, reject) => push<R>(sql, params, (answer) => resolve(pick(answer)), reject));
    return tracing() ? withSpan(nameOf(sql), run, SPAN_ATTRIBUTES) : run();
  }

  /** After the microtasks of this turn: whatever they send belongs to the group. */
  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    queueMicrotask(() => process.nextTick(flush));
  }

  function flush(): void {
    isScheduled = false;
    if (waiting.length === 0 || (isSent && !isBegun)) return;
    const group = waiting;
    waiting = [];
    if (!isSent) group.unshift(groupedStatement("begin", [], { resolve: begun, reject: refuse }));
    isSent = true;
    inFlight++;
    sendGroup(client, group, settled);
  }

  function begun(): void {
    isBegun = true;
    flush();
  }

  function refuse(error: unknown): void {
    failure ??= error;
    close(() => Object.assign(new Error("the transaction could not begin", { cause: error }), { code: "25P02" }));
  }

  function close(reason: () => Error): void {
    closed ??= reason;
    const refused = waiting;
    waiting = [];
    for (const one of refused) one.reject(reason());
    notifyIdle();
  }

  /** Called before the statements of a group are settled. */
  function settled(): void {
    inFlight--;
    if (whenIdle.length > 0) queueMicrotask(notifyIdle);
  }

  function notifyIdle(): void {
    if (inFlight > 0 || waiting.length > 0) return;
    const listeners = whenIdle;
    whenIdle = [];
    for (const listener of listeners) listener();
  }

  return {
    send<R extends object>(sql: string, params: readonly unknown[]) {
      const answer = add<R, Answer<R>>(sql, params, (same) => same);
      schedule();
      return answer;
    },
    query<R extends object>(sql: string, params: readonly unknown[]) {
      const rows = add<R, R[]>(sql, params, (answer) => answer.rows);
      rows.catch(() => undefined);
      schedule();
      return rows;
    },
    defer<R extends object>(sql: string, params: readonly unknown[], then?: (rows: R[]) => void) {
      add<R, void>(sql, params, ({ rows }) => then?.(rows)).catch(() => undefined);
    },
    async settle() {
      flush();
      if (inFlight > 0 || waiting.length > 0) await new Promise<void>((resolve) => whenIdle.push(resolve));
      if (failure !== undefined) throw failure as Error;
    },
    commit() {
      if (unsendable !== undefined) return Promise.reject(unsendable);
      const command = add("commit", [], (answer) => answer.command);
      closed ??= alreadyEnded;
      flush();
      return command;
    },
    close: () => close(alreadyEnded),
    get isClosed() {
      return closed !== undefined;
    },
    get count() {
      return count;
    },
    get isSent() {
      return isSent;
    },
    get failure() {
      return failure;
    },
  };
}

export const alreadyEnded = (): Error => new Error("this transaction has ended");
