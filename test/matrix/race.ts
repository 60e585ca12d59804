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

/** Tables whose rows the end of a caller changes, and its undoing restores. */
const restored = [
  "sessions",
  "memberships",
  "membership_counts",
  "api_keys",
  "automation_tokens",
  "service_identities",
  "svids",
  "apps",
  "app_admins",
];

/** Columns that a refused request may change. */
const lastUse = ["last_seen_at", "last_used_at", "last_auth_at"];

/**
 * The statement that reads the rows of every table as one text. Where a race may note the last use of a row, or
 * restores one, it reads their values without times of last use, else the transactions that wrote the rows, which
 * takes less.
 */
async function readingOf(watch: pg.Client, also: readonly string[]): Promise<string> {
  const { rows: tables } = await watch.query<{ name: string; values: boolean }>(
    `select relname as name, relname = any($2::text[]) or exists (
         select from pg_attribute where attrelid = c.oid and attname = any($3::text[])) as values
       from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
         and not relispartition and relname <> all($1::text[])`,
    [beside.filter((name) => !also.includes(name)), restored, lastUse],
  );
  const each = tables.map(({ name, values }) => {
    const row = values
      ? `hashtextextended((to_jsonb(t) - '{${lastUse.join()}}'::text[])::text, 0)`
      : "xmin::text::bigint";
    return `select '${name}' || ' ' || count(*) || ' ' || coalesce(sum(${row}), 0) as summary from ${name} t`;
  });
  return `${each.join(" union all ")} order by 1`;
}

async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client(databaseUrl);
  // The database is dropped while they are connected.
  client.on("error", () => undefined);
  await client.connect();
  return client;
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

/** Connections of a file's races, which are opened once. */
export interface Races {
  /** For statements besides the races. */
  watch: pg.Client;
  /**
   * Sends a write while the end of its caller is uncommitted, commits that, and returns what is wrong with the outcome;
   * undefined when nothing is wrong.
   */
  raced(ending: Ending, send: () => Promise<{ status: number; text: string }>): Promise<string | undefined>;
  close(): Promise<void>;
}

/**
 * Opens the connections of races on a database whose tables stay as they are. `also` names tables to compare that other
 * races leave out.
 */
export async function openRaces(databaseUrl: string, also: readonly string[] = []): Promise<Races> {
  const [watch, ending] = await Promise.all([connect(databaseUrl), connect(databaseUrl)]);
  // Parallel workers, which the union of so many tables gets, take seven times as long to start as it takes to read.
  await watch.query("set max_parallel_workers_per_gather = 0");
  const text = await readingOf(watch, also);
  // Prepared: planning a union of every table takes 4 ms.
  const contents = async (): Promise<string> =>
    (await watch.query<{ summary: string }>({ name: "contents", text })).rows.map(({ summary }) => summary).join("\n");

  return {
    watch,
    async raced({ end, undo }, send) {
      const before = await contents();
      await ending.query("begin");
      await end(ending);
      let early = false;
      const answer = send().finally(() => (early = true));
      while (!early && !(await blocked(watch))) await new Promise((resolve) => setTimeout(resolve, 3));
      const waited = !early;
      await ending.query("commit");
      const { status, text: said } = await answer;
      await undo();
      if (!waited) return `answered ${status} without waiting for the end of its caller: ${said}`;
      if (status !== 401) return `answered ${status} instead of 401: ${said}`;
      const after = await contents();
      if (after === before) return undefined;
      const changed = after.split("\n").filter((line) => !before.includes(line));
      return `changed ${changed.join(", ")}`;
    },
    async close() {
      await Promise.all([watch.end(), ending.end()]);
    },
  };
}
