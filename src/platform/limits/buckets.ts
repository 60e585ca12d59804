import { createLru } from "../lru.ts";
import { rowId } from "./budget.ts";
import type { Budget, LimiterDeps } from "./budget.ts";

/** What this process knows of one bucket. */
interface Share {
  /** Leased and not spent. */
  tokens: number;
  /** Tokens to ask for next time: grows while leases follow each other quickly. */
  batch: number;
  leasedAt: number;
  refusedUntil: number;
  waiting: number;
  pending: Promise<void> | undefined;
}

/** Leased tokens are forgotten after this time, since the shared bucket has refilled meanwhile. */
const leaseMs = 10_000;
const quickMs = 1_000;

// R is what the bucket holds now; the row's lock makes asking and taking one step for all instances.
const refilled = "least($3::double precision, b.tokens + greatest(0, $2::bigint - b.at_ms) * $4::double precision)";
const grant = `least($5::integer, floor(${refilled} + 1e-6))`;
const left = `(${refilled} - ${grant})`;
const leaseSql = `
  insert into rate_buckets as b (id, tokens, granted, at_ms, full_ms)
  values ($1, $3::double precision - least($5::integer, $3), least($5::integer, $3), $2::bigint,
    $2::bigint + ceil(least($5::integer, $3) / $4::double precision))
  on conflict (id) do update set
    tokens = ${left}, granted = ${grant}, at_ms = greatest(b.at_ms, $2::bigint),
    full_ms = greatest(b.at_ms, $2::bigint) + ceil(($3 - ${left}) / $4)
  returning tokens, granted`;

/** Token buckets in PostgreSQL, spent from leases. */
export function createBuckets({ database, clock, maxSubjects = 20_000 }: LimiterDeps) {
  const shares = createLru<Share>(maxSubjects);

  async function lease(share: Share, budget: Budget, subject: string): Promise<void> {
    const now = clock.now();
    const most = budget.limit >= 100 ? Math.ceil((budget.limit * 1000) / budget.windowMs) : 1;
    share.batch = now - share.leasedAt < quickMs ? Math.min(most, share.batch * 2) : 1;
    const perMs = budget.limit / budget.windowMs;
    const want = Math.max(share.batch, share.waiting);
    const rows = await database.prepared<{ tokens: number; granted: number }>("rate-bucket-lease", leaseSql, [
      rowId(budget, subject),
      now,
      budget.limit,
      perMs,
      want,
    ]);
    const { tokens, granted } = rows[0]!;
    share.tokens = granted;
    share.leasedAt = now;
    if (granted < want) share.refusedUntil = now + Math.ceil((1 - Math.max(0, tokens)) / perMs);
  }

  /** Undefined: the shared bucket has to be asked. */
  function spend(share: Share): number | undefined {
    const now = clock.now();
    if (share.tokens >= 1 && now - share.leasedAt < leaseMs) {
      share.tokens--;
      return 0;
    }
    return share.refusedUntil > now ? share.refusedUntil - now : undefined;
  }

  async function ask(share: Share, budget: Budget, subject: string): Promise<number> {
    share.waiting++;
    try {
      for (;;) {
        share.pending ??= lease(share, budget, subject).finally(() => (share.pending = undefined));
        await share.pending;
        const answer = spend(share);
        if (answer !== undefined) return answer;
      }
    } finally {
      share.waiting--;
    }
  }

  return {
    take(budget: Budget, subject: string): number | Promise<number> {
      const key = `${budget.name}\n${subject}`;
      let share = shares.get(key);
      if (share === undefined) {
        share = { tokens: 0, batch: 1, leasedAt: -Infinity, refusedUntil: 0, waiting: 0, pending: undefined };
        shares.set(key, share);
      }
      return spend(share) ?? ask(share, budget, subject);
    },
  };
}
