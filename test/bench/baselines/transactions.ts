import pg from "pg";

const connections = Number(process.env["CONNECTIONS"] ?? "10");

/** Pool of a baseline: CONNECTIONS connections to the database in DATABASE. */
export const pool = new pg.Pool({ connectionString: process.env["DATABASE"], min: connections, max: connections });

/** Serves a baseline of bare transactions; see {@link serveWork}. */
export function serveTransactions(work: (client: pg.PoolClient) => Promise<void>): void {
  serveWork(async () => {
    const client = await pool.connect();
    try {
      await client.query("begin");
      await work(client);
      await client.query("commit");
    } finally {
      client.release();
    }
  });
}

/**
 * Serves a baseline: asked `{seconds}`, keeps CONNECTIONS pieces of work going and reports how many were done a second.
 * Ends with the bench.
 */
export function serveWork(work: () => Promise<unknown>): void {
  const run = async (seconds: number): Promise<void> => {
    const started = performance.now();
    const end = started + seconds * 1000;
    let completed = 0;
    const worker = async (): Promise<void> => {
      for (; performance.now() < end; completed++) await work();
    };
    await Promise.all(Array.from({ length: connections }, worker));
    process.send?.({ result: { value: completed / ((performance.now() - started) / 1000) } });
  };
  process.on("disconnect", () => process.exit(0));
  process.on("message", ({ seconds }: { seconds: number }) => void run(seconds));
  process.send?.({ ready: {} });
}
