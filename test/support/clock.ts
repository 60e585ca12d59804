import { systemClock } from "../../src/platform/clock.ts";
import type { Clock } from "../../src/platform/clock.ts";

/** A clock that a test advances. */
export interface TestClock extends Clock {
  /** Advances by milliseconds. */
  advance(ms: number): void;
  /** Sets the time, milliseconds since the epoch. */
  set(ms: number): void;
}

/** A clock that does not advance by itself; starts at the machine's time, or at `start`. */
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

/** A clock that advances by a millisecond whenever it is read, as time does between two statements. */
export function tickingClock(start: number = Date.now()): Clock {
  let present = start;
  return { now: () => present++ };
}

/** The clock of a machine that is ahead of this one. */
export function clockAhead(ms: number): Clock {
  return { now: () => systemClock.now() + ms, isMachine: true };
}
