import pg from "pg";

/** An open transaction of a test. */
export interface Held {
  run(sql: string, params?: unknown[]): Promise<void>;
  commit(): Promise<void>;
  /** Resolves when this many transactions wait for a lock. */
  waitedFor(count?: number): Promise<void>;
}

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
        const { rows } = await watch.query(
          "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        );
        if (rows.length >= count) return;
      }
      throw new Error("nobody waits for what is held");
    },
  };
}
