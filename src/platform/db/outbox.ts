import type { Clock } from "../clock.ts";
import { databaseTime, present, presentPlus } from "./time.ts";
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
   * Takes up to `limit` due rows of a topic, oldest first, and hides them from everybody for `leaseMs`. A row that is
   * neither completed nor failed by then is due again: handlers must be idempotent.
   */
  claimDue(limit: number, leaseMs: number, topic: string): Promise<OutboxRow[]>;
  /** Keeps claimed rows hidden for another `leaseMs` from now. */
  extend(ids: readonly string[], leaseMs: number): Promise<void>;
  /** Removes rows that are done. */
  complete(ids: readonly string[]): Promise<void>;
  /** Lets rows be due again after `waitMs`; those that expire before that are removed. Returns how many these are. */
  fail(ids: readonly string[], error: string, waitMs: number): Promise<number>;
  /** Removes rows whose time is over, {@link MOST_EXPIRED} at most, and tells which. */
  dropExpired(): Promise<ExpiredRow[]>;
  /** Milliseconds the oldest due row has been waiting; 0 when none is. */
  oldestAge(): Promise<number>;
  /** When the next row is or becomes due, leases included; null when there is none. */
  nextDue(): Promise<Date | null>;
  /** Rows by topic, for metrics: all, and those that failed at least once; counted to 100,000 each. */
  counts(): Promise<{ topic: string; rows: number; failing: number }[]>;
}

const maxError = 2_000;
/** Most rows that are given up by one statement. */
export const MOST_EXPIRED = 1_000;
/** Most rows of a topic that are counted. */
const COUNTED = 100_000;

/** The topics that have rows (and a null at the end), one look into the index each. */
const topics = `topics as (
    (select topic from outbox order by topic limit 1)
    union all
    select (select o.topic from outbox o where o.topic > topics.topic order by o.topic limit 1)
    from topics where topics.topic is not null
  )`;
const counted = (where: string): string =>
  `(select count(*)::int from (
    select 1 from outbox o where o.topic = topics.topic ${where} limit ${COUNTED}
  ) some_of_them)`;

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

    async fail(ids, error, waitMs) {
      const next = presentPlus("$3", "$4");
      const rows = await database.prepared<{ dropped: number }>(
        "outbox-fail",
        `with dropped as (delete from outbox where id = any($1::bigint[]) and expires_at <= ${next} returning id),
         kept as (
           update outbox set available_at = ${next}, last_error = $2
           where id = any($1::bigint[]) and (expires_at is null or expires_at > ${next})
         )
         select count(*)::int as dropped from dropped`,
        [ids, error.slice(0, maxError), now(), waitMs],
      );
      return rows[0]?.dropped ?? 0;
    },

    dropExpired: () =>
      database.prepared<ExpiredRow>(
        "outbox-expired",
        `delete from outbox where id = any(array(
         select id from outbox where expires_at <= ${present("$1")} and available_at <= ${present("$1")}
         order by expires_at limit ${MOST_EXPIRED} for update skip locked))
       returning id, topic, attempts, last_error as "lastError"`,
        [now()],
      ),

    async oldestAge() {
      const rows = await database.prepared<{ age: number | null }>(
        "outbox-oldest",
        `with recursive ${topics}
         select extract(epoch from ${present("$1")} - min(oldest.available_at))::double precision * 1000 as age
         from topics cross join lateral (
           select available_at from outbox o
           where o.topic = topics.topic and available_at <= ${present("$1")} order by available_at limit 1
         ) oldest`,
        [now()],
      );
      return Math.max(0, Math.round(rows[0]?.age ?? 0));
    },

    async nextDue() {
      const rows = await database.prepared<{ next: Date | null }>(
        "outbox-next",
        `with recursive ${topics}
         select min(first.available_at) as next from topics
         cross join lateral (
           select available_at from outbox o where o.topic = topics.topic order by available_at limit 1
         ) first`,
        [],
      );
      return rows[0]?.next ?? null;
    },

    counts: () =>
      database.prepared(
        "outbox-counts",
        `with recursive ${topics}
       select topic, ${counted("")} as rows, ${counted("and o.last_error is not null")} as failing
       from topics where topic is not null order by topic`,
        [],
      ),
  };
}
