import pg from "pg";

/** Tables whose rows do not depend on whether a write was committed. */
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
  // Their numbers count each end and restoration of an SVID.
  "spiffe_revocation_lists",
  // Its versions count each end and restoration of a membership.
  "scim_users",
];

/** The rows of every table as one text, without times of last use. */
async function contents(watch: pg.Client): Promise<string> {
  const { rows: tables } = await watch.query<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'public' and tablename <> all($1::text[])",
    [beside],
  );
  const each = tables.map(
    ({ name }) =>
      `select '${name}' || ' ' || count(*) || ' ' || coalesce(sum(hashtextextended(
         (to_jsonb(t) - '{last_seen_at,last_used_at,last_auth_at}'::text[])::text, 0)), 0) as summary from ${name} t`,
  );
  const { rows } = await watch.query<{ summary: string }>(`${each.join(" union all ")} order by 1`);
  return rows.map(({ summary }) => summary).join("\n");
}

async function blocked(watch: pg.Client): Promise<boolean> {
  const { rows } = await watch.query(
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rows.length > 0;
}

/** Statements that end or reduce a caller's permissions, and that restore them for the next write. */
export interface Ending {
  end(client: pg.Client): Promise<void>;
  undo(): Promise<void>;
}

/**
 * Sends a write while the end of its caller is uncommitted, commits that, and returns what is wrong with the outcome;
 * undefined when nothing is wrong.
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
