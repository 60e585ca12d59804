import type { Clock } from "../clock.ts";
import type { Database } from "./types.ts";

/** An outbox row in the hands of a dispatcher. */
export interface OutboxRow {
  id: string;
  topic: string;
  payload: Record<string, unknown>;
  /** Tries so far, this one included; a try that was cut short by a crash counts. */
  attempts: number;
  createdAt: Date;
  expiresAt: Date | null;
  /** Trace of the request that wrote it (W3C Trace Context); null where none was recorded. */
  traceparent: string | null;
}

/** A row that was given up because its time was over. */
export interface ExpiredRow {
  id: string;
  topic: string;
  attempts: number;
  lastError: string | null;
}

/** The dispatcher's side of the outbox; `tx.emit` is the writers'. */
export interface Outbox {
  /**
   * Takes up to `limit` due rows of these topics, oldest first, and hides them from everybody for `leaseMs`. A row that is
   * neither completed nor failed by then is due again: handlers must be idempotent.
   */
  claimDue(limit: number, leaseMs: number, topics: readonly string[]): Promise<OutboxRow[]>;
  /** Keeps claimed rows hidden for another `leaseMs` from now. */
  extend(ids: readonly string[], leaseMs: number): Promise<void>;
  /** Removes rows that are done. */
  complete(ids: readonly string[]): Promise<void>;
  /** Lets rows be due again at `nextAt`; those that expire before that are removed, and the answer is how many. */
  fail(ids: readonly string[], error: string, nextAt: Date): Promise<number>;
  /** Removes rows whose time is over, at most 100, and tells which. */
  dropExpired(): Promise<ExpiredRow[]>;
  /** Milliseconds the oldest due row has been waiting; 0 when none is. */
  oldestAge(): Promise<number>;
  /** When the next row is or becomes due, leases included; null when there is none. */
  nextDue(): Promise<Date | null>;
  /** Rows by topic, for metrics: all, and those that failed at least once. */
  counts(): Promise<{ topic: string; rows: number; failing: number }[]>;
}

const maxError = 2_000;

export function createOutbox({ database, clock }: { database: Pick<Database, "prepared">; clock: Clock }): Outbox {
  const now = (plusMs = 0): Date => new Date(clock.now() + plusMs);
  return {
    claimDue: (limit, leaseMs, topics) => database.prepared<OutboxRow>("outbox-claim",
      `with due as materialized (
         select id from outbox
         where available_at <= $1 and (expires_at is null or expires_at > $1) and topic = any($2)
         order by available_at, id limit $3 for update skip locked
       ), claimed as (
         update outbox set available_at = $4, attempts = outbox.attempts + 1 from due where outbox.id = due.id
         returning outbox.id, topic, payload, attempts, created_at, expires_at, traceparent
       )
       select id, topic, payload, attempts, created_at as "createdAt", expires_at as "expiresAt", traceparent from claimed order by id`,
      [now(), topics, limit, now(leaseMs)]),

    async extend(ids, leaseMs) {
      await database.prepared("outbox-extend", "update outbox set available_at = $2 where id = any($1::bigint[])",
        [ids, now(leaseMs)]);
    },

    async complete(ids) {
      await database.prepared("outbox-complete", "delete from outbox where id = any($1::bigint[])", [ids]);
    },

    async fail(ids, error, nextAt) {
      const rows = await database.prepared<{ dropped: number }>("outbox-fail",
        `with dropped as (delete from outbox where id = any($1::bigint[]) and expires_at <= $3 returning id),
         kept as (update outbox set available_at = $3, last_error = $2 where id = any($1::bigint[]) and (expires_at is null or expires_at > $3))
         select count(*)::int as dropped from dropped`,
        [ids, error.slice(0, maxError), nextAt]);
      return rows[0]?.dropped ?? 0;
    },

    dropExpired: () => database.prepared<ExpiredRow>("outbox-expired",
      `delete from outbox where id in
         (select id from outbox where expires_at <= $1 and available_at <= $1 limit 100 for update skip locked)
       returning id, topic, attempts, last_error as "lastError"`,
      [now()]),

    async oldestAge() {
      const rows = await database.prepared<{ oldest: Date | null }>("outbox-oldest",
        "select min(available_at) as oldest from outbox where available_at <= $1", [now()]);
      const oldest = rows[0]?.oldest;
      return oldest ? Math.max(0, clock.now() - oldest.getTime()) : 0;
    },

    async nextDue() {
      const rows = await database.prepared<{ next: Date | null }>("outbox-next", "select min(available_at) as next from outbox", []);
      return rows[0]?.next ?? null;
    },

    counts: () => database.prepared("outbox-counts",
      `select topic, count(*)::int as rows, (count(*) filter (where last_error is not null))::int as failing
       from outbox group by topic order by topic`, []),
  };
}
