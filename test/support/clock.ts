import type { Clock } from "../../src/platform/clock.ts";

/** A clock that a test moves. */
export interface TestClock extends Clock {
  /** Moves on by milliseconds. */
  advance(ms: number): void;
  /** Sets the present, milliseconds since the epoch. */
  set(ms: number): void;
}

/** Stands still until it is moved; starts at the machine's time, or at `start`. */
export function testClock(start: number = Date.now()): TestClock {
  let present = start;
  return {
    now: () => present,
    advance(ms) {
      present += ms;
    },
    set(ms) {
      present = ms;
    },
  };
}
