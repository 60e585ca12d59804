/** The one source of time. Everything that decides by time takes it from here. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now() };

/** The clock's present as a Date. */
export function dateOf(clock: Clock, plusMs = 0): Date {
  return new Date(clock.now() + plusMs);
}
