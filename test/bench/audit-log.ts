import pg from "pg";

/** What was written: filters of lists are made of it. */
export interface Log {
  users: readonly string[];
  types: readonly string[];
  from: Date;
  to: Date;
}

/** The log to write. */
export interface LogOptions {
  org: string;
  users: readonly string[];
  events: number;
  log(line: string): void;
}

const types = [
  "login.password",
  "token.refreshed",
  "session.revoked",
  "step_up.failed",
  "mfa.enrolled",
  "role.assigned",
  "user.updated",
  "vault.secret.read",
];
/** Events of the last 80 days, whatever their number: what a list shows of a day or a week differs in number only. */
const days = 80;
const insertBatch = 1_000_000;
const countBatch = 250_000;

/**
 * Writes a log with its totals, as the service and its linker would have: every mix of person, type and outcome all the
 * time, every tenth event a failure. The indexes are made after the events; the hash chain, which no list reads, is
 * left out.
 */
export async function seedLog(databaseUrl: string, { org, users, events, log }: LogOptions): Promise<Log> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const to = new Date(Date.now() - 60_000);
  const from = new Date(to.getTime() - days * 86_400_000);
  try {
    await client.query(
      "set synchronous_commit = off; set maintenance_work_mem = '1GB'; set work_mem = '256MB'; set jit = off",
    );
    const { rows: indexes } = await client.query<{ name: string; definition: string }>(
      `select i.relname as name, pg_get_indexdef(x.indexrelid) as definition
       from pg_index x join pg_class i on i.oid = x.indexrelid
       where x.indrelid = 'audit_events'::regclass and not x.indisunique`,
    );
    for (const { name } of indexes) await client.query(`drop index ${name}`);
    for (let done = 0; done < events; done += insertBatch) {
      const until = Math.min(events, done + insertBatch);
      await client.query(
        `insert into audit_events
           (event_id, type, is_auth, outcome, user_uuid, org_uuid, ip_address, user_agent, metadata, created_at)
         select uuidv7(), t.type, t.at <= 5, case when hashint4(n + 7) % 10 = 0 then 'failure' else 'success' end,
           ($1::uuid[])[1 + abs(hashint4(n + 3) % cardinality($1::uuid[]))], $2, '192.0.2.7', 'Mozilla/5.0 (bench)',
           '{"session_id": "6f1c0e0a-9a57-4c1e-8d0e-000000000000"}',
           $3::timestamptz + n * ($4::timestamptz - $3::timestamptz) / $5::integer
         from generate_series($6::integer, $7::integer - 1) n,
           lateral (
             select at, ($8::text[])[at] as type
             from (select 1 + abs(hashint4(n) % cardinality($8::text[])) as at) as place
           ) as t`,
        [users, org, from, to, events, done, until, types],
      );
      if (events > insertBatch) log(`  ${until.toLocaleString("en")} of ${events.toLocaleString("en")} events`);
    }
    for (const { name, definition } of indexes) {
      await client.query(definition);
      if (events > insertBatch) log(`  index ${name}`);
    }
    await client.query("vacuum (analyze) audit_events");
    const {
      rows: [span],
    } = await client.query<{ first: string; last: string }>(
      `select min(sequence) as first, max(sequence) as last from audit_events
       where org_uuid = $1 and user_agent like '%bench%'`,
      [org],
    );
    const [first, last] = [Number(span?.first), Number(span?.last)];
    for (let at = first; at <= last; at += countBatch) {
      const sequences = `select array_agg(sequence) from audit_events
        where sequence between $1 and $2 and org_uuid = $3
          and sequence not in (select event_sequence from audit_pending)`;
      await client.query(`select audit_count((${sequences}), 1)`, [at, Math.min(last, at + countBatch - 1), org]);
      if ((at - first) % 1_000_000 === 0 && events > insertBatch)
        log(`  totals of ${(at - first).toLocaleString("en")} events`);
    }
    await client.query("vacuum (analyze) audit_counts");
    await client.query("checkpoint");
  } finally {
    await client.end();
  }
  return { users, types, from, to };
}
