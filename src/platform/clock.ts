/** The only source of time: every decision by time uses it. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /**
   * True for the machine's clock, which may differ from the database's; a test's clock is right by definition.
   */
  readonly isMachine?: boolean;
}

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now(), isMachine: true };

/**
 * Milliseconds for measuring durations in this process: they go on where the machine's clock is set back or forth. A
 * test's clock measures too.
 */
export function elapsed(clock: Clock): number {
  return clock.isMachine === true ? performance.now() : clock.now();
}

/** The current time as a Date, plus `plusMs`. */
export function dateOf(clock: Clock, plusMs = 0): Date {
  return new Date(clock.now() + plusMs);
}
