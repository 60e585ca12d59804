import pg from "pg";

/** An open transaction of a test. */
export interface Held {
  run(sql: string, params?: unknown[]): Promise<void>;
  commit(): Promise<void>;
  /** Resolves when this many transactions wait for a lock. */
  waitedFor(count?: number): Promise<void>;
}

/** Selects the transactions of the present database that wait for a lock. */
export const LOCK_WAITS =
  "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

/** Begins a transaction beside those of the service, so that a test controls what happens between two steps. */
export async function holding(databaseUrl: string): Promise<Held> {
  const [mine, watch] = [new pg.Client(databaseUrl), new pg.Client(databaseUrl)];
  // A failed test leaves them open until its database is dropped.
  for (const client of [mine, watch]) client.on("error", () => undefined);
  await Promise.all([mine.connect(), watch.connect()]);
  await mine.query("begin");
  return {
    async run(sql, params = []) {
      await mine.query(sql, params);
    },
    async commit() {
      await mine.query("commit");
      await Promise.all([mine.end(), watch.end()]);
    },
    async waitedFor(count = 1) {
      for (
        const end = Date.now() + 120_000;
        Date.now() < end;
        await new Promise((resolve) => setTimeout(resolve, 10))
      ) {
        const { rows } = await watch.query(LOCK_WAITS);
        if (rows.length >= count) return;
      }
      throw new Error("nobody waits for what is held");
    },
  };
}

/**
 * Answers of two requests while what `lock` selects is locked: the second is sent when the first waits for a lock, and
 * the locks are released when both wait.
 */
export async function sendInTurn<A, B>(
  databaseUrl: string,
  [lock, ...params]: readonly [sql: string, ...params: unknown[]],
  first: () => Promise<A>,
  second: () => Promise<B>,
): Promise<[A, B]> {
  const held = await holding(databaseUrl);
  await held.run(lock, params);
  const one = first();
  await held.waitedFor();
  const other = second();
  await held.waitedFor(2);
  await held.commit();
  return Promise.all([one, other]);
}
