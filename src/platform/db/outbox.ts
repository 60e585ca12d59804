import type { Clock } from "../clock.ts";
import { databaseTime, present, presentPlus } from "./time.ts";
import type { Database } from "./types.ts";

/** An outbox row that a dispatcher has claimed. */
export interface OutboxRow {
  id: string;
  topic: string;
  payload: Record<string, unknown>;
  /** Attempts so far, including this one and those interrupted by a crash. */
  attempts: number;
  createdAt: Date;
  expiresAt: Date | null;
  /** Trace of the request that wrote it (W3C Trace Context); null when it was not traced. */
  traceparent: string | null;
}

/** A row that was deleted because it had expired. */
export interface ExpiredRow {
  id: string;
  topic: string;
  attempts: number;
  lastError: string | null;
}

/** The outbox as the dispatcher uses it; rows are written with `tx.emit`. */
export interface Outbox {
  /**
   * Claims up to `limit` due rows of a topic, oldest first, under a lease of `leaseMs`. A row that is neither completed
   * nor failed by then is due again: handlers must be idempotent.
   */
  claimDue(limit: number, leaseMs: number, topic: string): Promise<OutboxRow[]>;
  /** Extends the leases of rows to `leaseMs` from now. */
  extend(ids: readonly string[], leaseMs: number): Promise<void>;
  /** Deletes completed rows. */
  complete(ids: readonly string[]): Promise<void>;
  /**
   * Makes rows due again after `waitMs`, under another topic where one is given; deletes those that expire before that.
   * @returns the number of deleted rows
   */
  fail(ids: readonly string[], error: string, waitMs: number, topic?: string): Promise<number>;
  /** Deletes expired rows, at most {@link MAX_EXPIRED_BATCH}, and returns them. */
  dropExpired(): Promise<ExpiredRow[]>;
  /**
   * Returns the age of the oldest work, milliseconds: how long a due row has waited, or how long ago one was written
   * that fails, since each attempt makes it due later. 0 when there is none.
   */
  oldestAge(): Promise<number>;
  /** Returns the state of each topic that has rows. */
  counts(): Promise<TopicCounts[]>;
}

/** Rows of one topic. Each number is counted up to 100,000. */
export interface TopicCounts {
  topic: string;
  rows: number;
  /** Rows that failed at least once. */
  failing: number;
  /** Age of the oldest of them, milliseconds; 0 without one. */
  failingMs: number;
  /** Error of one of them; null without one. */
  lastError: string | null;
}

/** Maximum length of a stored error. */
const MAX_ERROR_LENGTH = 2_000;
/** Maximum number of expired rows deleted by one statement. */
export const MAX_EXPIRED_BATCH = 1_000;
/** Maximum number of rows counted per topic. */
const MAX_COUNTED = 100_000;

/** The topics that have rows (and a final null), by a skip scan of the index. */
const topics = `topics as (
    (select topic from outbox order by topic limit 1)
    union all
    select (select o.topic from outbox o where o.topic > topics.topic order by o.topic limit 1)
    from topics where topics.topic is not null
  )`;
const failing = `lateral (
    select count(*)::int as rows, min(kept.created_at) as since from (
      select created_at from outbox o where o.topic = topics.topic and o.last_error is not null limit ${MAX_COUNTED}
    ) kept
  ) failing`;
const ageMs = (since: string): string => `extract(epoch from ${present("$1")} - ${since})::double precision * 1000`;

export function createOutbox({ database, clock }: { database: Pick<Database, "prepared">; clock: Clock }): Outbox {
  const now = (): Date | null => databaseTime(clock);
  return {
    claimDue: (limit, leaseMs, topic) =>
      database.prepared<OutboxRow>(
        "outbox-claim",
        `with due as materialized (
         select id from outbox
         where topic = $2 and available_at <= ${present("$1")} and (expires_at is null or expires_at > ${present("$1")})
         order by available_at, id limit $3 for update skip locked
       ), claimed as (
         update outbox set available_at = ${presentPlus("$1", "$4")}, attempts = outbox.attempts + 1
         from due where outbox.id = due.id
         returning outbox.id, topic, payload, attempts, created_at, expires_at, traceparent
       )
       select id, topic, payload, attempts, created_at as "createdAt", expires_at as "expiresAt", traceparent
       from claimed order by id`,
        [now(), topic, limit, leaseMs],
      ),

    async extend(ids, leaseMs) {
      const sql = `update outbox set available_at = ${presentPlus("$2", "$3")} where id = any($1::bigint[])`;
      await database.prepared("outbox-extend", sql, [ids, now(), leaseMs]);
    },

    async complete(ids) {
      await database.prepared("outbox-complete", "delete from outbox where id = any($1::bigint[])", [ids]);
    },

    async fail(ids, error, waitMs, topic) {
      const next = presentPlus("$3", "$4");
      const rows = await database.prepared<{ dropped: number }>(
        "outbox-fail",
        `with dropped as (delete from outbox where id = any($1::bigint[]) and expires_at <= ${next} returning id),
         kept as (
           update outbox set available_at = ${next}, last_error = $2, topic = coalesce($5, topic)
           where id = any($1::bigint[]) and (expires_at is null or expires_at > ${next})
         )
         select count(*)::int as dropped from dropped`,
        [ids, error.slice(0, MAX_ERROR_LENGTH), now(), waitMs, topic ?? null],
      );
      return rows[0]?.dropped ?? 0;
    },

    dropExpired: () =>
      database.prepared<ExpiredRow>(
        "outbox-expired",
        `delete from outbox where id = any(array(
         select id from outbox where expires_at <= ${present("$1")} and available_at <= ${present("$1")}
         order by expires_at limit ${MAX_EXPIRED_BATCH} for update skip locked))
       returning id, topic, attempts, last_error as "lastError"`,
        [now()],
      ),

    async oldestAge() {
      const rows = await database.prepared<{ age: number | null }>(
        "outbox-oldest",
        `with recursive ${topics}
         select ${ageMs("min(least(due.available_at, failing.since))")} as age
         from topics left join lateral (
           select available_at from outbox o
           where o.topic = topics.topic and available_at <= ${present("$1")} order by available_at limit 1
         ) due on true cross join ${failing}`,
        [now()],
      );
      return Math.max(0, Math.round(rows[0]?.age ?? 0));
    },

    counts: () =>
      database.prepared(
        "outbox-counts",
        `with recursive ${topics}
       select topic, waiting.rows, failing.rows as failing,
         greatest(0, coalesce(${ageMs("failing.since")}, 0)) as "failingMs",
         (select o.last_error from outbox o where o.topic = topics.topic and o.last_error is not null limit 1)
           as "lastError"
       from topics cross join lateral (
         select count(*)::int as rows
         from (select 1 from outbox o where o.topic = topics.topic limit ${MAX_COUNTED}) kept
       ) waiting cross join ${failing}
       where topic is not null order by topic`,
        [now()],
      ),
  };
}
