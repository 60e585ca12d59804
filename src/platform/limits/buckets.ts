import { elapsed } from "../clock.ts";
import { databaseMs, presentMs } from "../db/time.ts";
import { createLru } from "../lru.ts";
import { rowId } from "./budget.ts";
import type { Budget, LimiterDeps } from "./budget.ts";

/** Cached state of one bucket; its times are those of `elapsed`. */
interface Bucket {
  /** Leased and unspent. */
  tokens: number;
  /** Size of the next lease: grows while leases follow each other quickly. */
  batch: number;
  leasedAt: number;
  refusedUntil: number;
  waiting: number;
  pending: Promise<void> | undefined;
}

/** Leased tokens expire after this time, since the shared bucket has refilled meanwhile. */
const LEASE_MS = 10_000;
/** A lease that follows the last one within this time is doubled. */
const GROWTH_MS = 1_000;

/** The present time, as the row to insert has it. */
const now = "excluded.at_ms";
// A bucket is full after a window, so a time further ahead was written by a clock that was wrong; it counts as now.
const at = `(case when b.at_ms > ${now} + $3::double precision / $4 then ${now} else b.at_ms end)`;
// The row lock makes reading and taking one atomic step for all instances.
const refilled = `least($3::double precision, b.tokens + greatest(0, ${now} - ${at}) * $4::double precision)`;
const grant = `least($5::integer, floor(${refilled} + 1e-6))`;
const left = `(${refilled} - ${grant})`;
const leaseSql = `
  insert into rate_buckets as b (id, tokens, granted, at_ms, full_ms)
  values ($1, $3::double precision - least($5::integer, $3), least($5::integer, $3), ${presentMs("$2")},
    ${presentMs("$2")} + ceil(least($5::integer, $3) / $4::double precision))
  on conflict (id) do update set
    tokens = ${left}, granted = ${grant}, at_ms = greatest(${at}, ${now}),
    full_ms = greatest(${at}, ${now}) + ceil(($3 - ${left}) / $4)
  returning tokens, granted`;

/** Token buckets in PostgreSQL, spent from leases. */
export function createBuckets({ database, clock, maxSubjects = 20_000 }: LimiterDeps) {
  const cached = createLru<Bucket>(maxSubjects);

  async function lease(bucket: Bucket, budget: Budget, subject: string): Promise<void> {
    const started = elapsed(clock);
    const most = budget.limit >= 100 ? Math.ceil((budget.limit * 1000) / budget.windowMs) : 1;
    bucket.batch = started - bucket.leasedAt < GROWTH_MS ? Math.min(most, bucket.batch * 2) : 1;
    const perMs = budget.limit / budget.windowMs;
    const want = Math.max(bucket.batch, bucket.waiting);
    const rows = await database.prepared<{ tokens: number; granted: number }>("rate-bucket-lease", leaseSql, [
      rowId(budget, subject),
      databaseMs(clock),
      budget.limit,
      perMs,
      want,
    ]);
    const { tokens, granted } = rows[0]!;
    bucket.tokens = granted;
    bucket.leasedAt = started;
    if (granted < want) bucket.refusedUntil = started + Math.ceil((1 - Math.max(0, tokens)) / perMs);
  }

  /** Returns the wait in milliseconds, 0 when a token was spent; undefined when the shared bucket must be queried. */
  function spend(bucket: Bucket): number | undefined {
    const present = elapsed(clock);
    if (bucket.tokens >= 1 && present - bucket.leasedAt < LEASE_MS) {
      bucket.tokens--;
      return 0;
    }
    return bucket.refusedUntil > present ? bucket.refusedUntil - present : undefined;
  }

  async function query(bucket: Bucket, budget: Budget, subject: string): Promise<number> {
    bucket.waiting++;
    try {
      for (;;) {
        bucket.pending ??= lease(bucket, budget, subject).finally(() => (bucket.pending = undefined));
        await bucket.pending;
        const answer = spend(bucket);
        if (answer !== undefined) return answer;
      }
    } finally {
      bucket.waiting--;
    }
  }

  return {
    take(budget: Budget, subject: string): number | Promise<number> {
      const key = `${budget.name}\n${subject}`;
      let bucket = cached.get(key);
      if (bucket === undefined) {
        bucket = { tokens: 0, batch: 1, leasedAt: -Infinity, refusedUntil: 0, waiting: 0, pending: undefined };
        cached.set(key, bucket);
      }
      return spend(bucket) ?? query(bucket, budget, subject);
    },
  };
}
