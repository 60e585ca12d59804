import { elapsed } from "../clock.ts";
import { databaseMs, presentMs } from "../db/time.ts";
import { createLru } from "../lru.ts";
import { rowId } from "./budget.ts";
import type { Budget, LimiterDeps } from "./budget.ts";

const now = presentMs("$2");
// A time more than a window ahead was written by a clock that was wrong.
const within = `from unnest(w.hits) as hit where hit > ${now} - $3::bigint and hit <= ${now} + $3::bigint`;
const empty = `${now} + $3::bigint`;
const takeSql = `
  insert into rate_windows as w (id, hits, empty_ms) values ($1, array[${now}], ${empty})
  on conflict (id) do update set
    hits = array(select hit ${within}) || ${now},
    empty_ms = least(greatest(w.empty_ms, ${empty}), ${empty} + $3::bigint)
  where (select count(*) ${within}) < $4::integer
  returning 1 as taken`;
const waitSql = `select (select min(hit) ${within}) + $3::bigint - ${now} as wait from rate_windows as w where id = $1`;

/** Exact sliding windows in PostgreSQL: stores the times of the calls, with one statement per call. */
export function createWindows({ database, clock, maxSubjects = 20_000 }: LimiterDeps) {
  const refused = createLru<number>(maxSubjects);

  async function query(budget: Budget, subject: string, key: string): Promise<number> {
    const started = elapsed(clock);
    const id = rowId(budget, subject);
    const taken = await database.prepared("rate-window-take", takeSql, [
      id,
      databaseMs(clock),
      budget.windowMs,
      budget.limit,
    ]);
    if (taken.length > 0) return 0;
    const rows = await database.prepared<{ wait: string | null }>("rate-window-wait", waitSql, [
      id,
      databaseMs(clock),
      budget.windowMs,
    ]);
    const wait = Math.max(1, Number(rows[0]?.wait ?? budget.windowMs));
    refused.set(key, started + wait);
    return wait;
  }

  return {
    take(budget: Budget, subject: string): number | Promise<number> {
      const key = `${budget.name}\n${subject}`;
      const wait = (refused.get(key) ?? -Infinity) - elapsed(clock);
      return wait > 0 ? wait : query(budget, subject, key);
    },
  };
}
