import type { Clock } from "../clock.ts";

/**
 * What to pass for {@link present}: null for the machine's clock, so that the database's own counts and instances whose
 * clocks are apart agree about leases and due times; the time itself of any other clock, such as a test's.
 */
export function databaseTime(clock: Clock): Date | null {
  return clock.isMachine === true ? null : new Date(clock.now());
}

/**
 * SQL of the present, where `param` holds a {@link databaseTime}. To the millisecond, as columns keep it: never in the
 * future.
 */
export function present(param: string): string {
  return `coalesce(${param}::timestamptz, date_trunc('milliseconds', statement_timestamp()))`;
}

/** SQL of the present plus milliseconds, which another parameter holds. */
export function presentPlus(param: string, ms: string): string {
  return `${present(param)} + ${ms}::double precision * interval '1 millisecond'`;
}
