import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/types.ts";

/**
 * Milliseconds by which this machine's clock is ahead of the database's, at least; negative where it is behind. 0 where
 * the time of the answer leaves no difference to be seen, and for a test's clock, which is right by definition.
 */
export async function clockDifference(database: Pick<Database, "identifying">, clock: Clock): Promise<number> {
  if (clock.isMachine !== true) return 0;
  const asked = clock.now();
  const sql = "select (extract(epoch from clock_timestamp()) * 1000)::double precision as now";
  const [row] = await database.identifying<{ now: number }>("clock", sql, []);
  const now = row?.now ?? asked;
  return Math.max(asked - now, 0) || Math.min(clock.now() - now, 0);
}
