import type { Clock } from "../clock.ts";
import { certain } from "../narrow.ts";
import type { Tx } from "./types.ts";

/**
 * Returns the parameter for {@link present}. Null for the machine's clock: the database's clock is used instead, so
 * that instances agree about leases and due times although their clocks differ. For other clocks (tests), their time.
 */
export function databaseTime(clock: Clock): Date | null {
  return clock.isMachine === true ? null : new Date(clock.now());
}

/**
 * Returns SQL for the present time, given a parameter with a {@link databaseTime}. Truncated to milliseconds like
 * stored times, so that it is never later than the clock.
 */
export function present(param: string): string {
  return `coalesce(${param}::timestamptz, date_trunc('milliseconds', statement_timestamp()))`;
}

/** Returns the parameter for {@link presentMs}, as {@link databaseTime} does. */
export function databaseMs(clock: Clock): number | null {
  return clock.isMachine === true ? null : clock.now();
}

/** Returns SQL for the present time in milliseconds since the epoch, given a parameter with {@link databaseMs}. */
export function presentMs(param: string): string {
  return `coalesce(${param}::bigint, floor(extract(epoch from statement_timestamp()) * 1000)::bigint)`;
}

/** Returns the present time that {@link present} is in the database. */
export async function presentTime(tx: Pick<Tx, "query">, clock: Clock): Promise<Date> {
  const sql = `select ${present("$1")} as now`;
  const [row] = await tx.query<{ now: Date }>(sql, [databaseTime(clock)]);
  return certain(row, "row of the present time").now;
}

/** Returns SQL for the present time plus the milliseconds in a second parameter. */
export function presentPlus(param: string, ms: string): string {
  return `${present(param)} + ${ms}::double precision * interval '1 millisecond'`;
}
