import pg from "pg";

/** Tables that say nothing of what was written for somebody. */
const beside = [
  "idempotency_records",
  "liveness_changes",
  "rate_buckets",
  "rate_windows",
  "rate_delays",
  "audit_pending",
  "audit_links",
  "audit_heads",
  "audit_counts",
];

/** The rows of every table as one text, but for when something was last used. */
async function contents(watch: pg.Client): Promise<string> {
  const { rows: tables } = await watch.query<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'public' and tablename <> all($1::text[])",
    [beside],
  );
  const each = tables.map(
    ({ name }) =>
      `select '${name}' || ' ' || count(*) || ' ' || coalesce(sum(hashtextextended(
         (to_jsonb(t) - '{last_seen_at,last_used_at}'::text[])::text, 0)), 0) as told from ${name} t`,
  );
  const { rows } = await watch.query<{ told: string }>(`${each.join(" union all ")} order by 1`);
  return rows.map(({ told }) => told).join("\n");
}

async function blocked(watch: pg.Client): Promise<boolean> {
  const { rows } = await watch.query(
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rows.length > 0;
}

/** What ends or lessens a caller, and what undoes it, so that the same caller can write again. */
export interface Ending {
  end(client: pg.Client): Promise<void>;
  undo(): Promise<void>;
}

/**
 * Sends a write while its caller's end waits to be committed, commits that, and answers what is wrong with the outcome;
 * undefined when nothing is.
 */
export async function raced(
  databaseUrl: string,
  watch: pg.Client,
  { end, undo }: Ending,
  send: () => Promise<{ status: number; text: string }>,
): Promise<string | undefined> {
  const before = await contents(watch);
  const ending = new pg.Client(databaseUrl);
  await ending.connect();
  await ending.query("begin");
  await end(ending);
  let early = false;
  const answer = send().finally(() => (early = true));
  while (!early && !(await blocked(watch))) await new Promise((resolve) => setTimeout(resolve, 3));
  const waited = !early;
  await ending.query("commit");
  await ending.end();
  const { status, text } = await answer;
  await undo();
  if (!waited) return `answered ${status} without waiting for the end of its caller: ${text}`;
  if (status !== 401) return `answered ${status} instead of 401: ${text}`;
  const after = await contents(watch);
  return after === before
    ? undefined
    : `changed ${after
        .split("\n")
        .filter((line) => !before.includes(line))
        .join(", ")}`;
}
