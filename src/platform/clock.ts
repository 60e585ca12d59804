/** The one source of time. Everything that decides by time takes it from here. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /**
   * True for the machine's own clock, which may be wrong; other clocks, as tests have them, are right by definition.
   */
  readonly isMachine?: boolean;
}

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now(), isMachine: true };

/** The clock's present as a Date. */
export function dateOf(clock: Clock, plusMs = 0): Date {
  return new Date(clock.now() + plusMs);
}
