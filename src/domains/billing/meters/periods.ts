import { dateOf } from "../../../platform/clock.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/types.ts";

/** For how long at least ids of events are remembered, and events counted to the millisecond, milliseconds. */
const KEPT_MS = 400 * 86_400_000;
/** Events received within this time are dropped together. New ids are looked up in every period, so these are few. */
const PERIOD_MS = 200 * 86_400_000;

/** The partitions of events, by the time at which they were received. */
export function createPeriodTurner({ database, clock }: { database: Pick<Database, "prepared">; clock: Clock }) {
  /**
   * Begins a new period when the newest has lasted long enough, else drops the events of one whose last event is too
   * old; their totals stay. Returns 1 when it did something, else 0.
   */
  return async (): Promise<number> => {
    const sql = `select meter_periods_turn($1, $2::bigint * interval '1 ms', $3::bigint * interval '1 ms') as turned`;
    const rows = await database.prepared<{ turned: boolean }>("meter-periods", sql, [
      dateOf(clock),
      PERIOD_MS,
      KEPT_MS,
    ]);
    return rows[0]?.turned === true ? 1 : 0;
  };
}
