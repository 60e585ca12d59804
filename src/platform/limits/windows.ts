import { createLru } from "../lru.ts";
import { rowId } from "./budget.ts";
import type { Budget, LimiterDeps } from "./budget.ts";

const within = "from unnest(w.hits) as hit where hit > $2::bigint - $3::bigint";
const takeSql = `
  insert into rate_windows as w (id, hits, empty_ms) values ($1, array[$2::bigint], $2::bigint + $3::bigint)
  on conflict (id) do update set
    hits = array(select hit ${within}) || $2::bigint, empty_ms = greatest(w.empty_ms, $2::bigint + $3::bigint)
  where (select count(*) ${within}) < $4::integer
  returning 1 as taken`;
const oldestSql = `select (select min(hit) ${within}) as oldest from rate_windows as w where id = $1`;

/** Exact sliding windows in PostgreSQL: stores the times of the calls, with one statement per call. */
export function createWindows({ database, clock, maxSubjects = 20_000 }: LimiterDeps) {
  const refused = createLru<number>(maxSubjects);

  async function query(budget: Budget, subject: string, key: string): Promise<number> {
    const now = clock.now();
    const id = rowId(budget, subject);
    const taken = await database.prepared("rate-window-take", takeSql, [id, now, budget.windowMs, budget.limit]);
    if (taken.length > 0) return 0;
    const rows = await database.prepared<{ oldest: string | null }>("rate-window-oldest", oldestSql, [
      id,
      now,
      budget.windowMs,
    ]);
    const free = Number(rows[0]?.oldest ?? now) + budget.windowMs;
    refused.set(key, free);
    return Math.max(1, free - now);
  }

  return {
    take(budget: Budget, subject: string): number | Promise<number> {
      const key = `${budget.name}\n${subject}`;
      const wait = (refused.get(key) ?? 0) - clock.now();
      return wait > 0 ? wait : query(budget, subject, key);
    },
  };
}
