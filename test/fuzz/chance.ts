/** Repeatable random numbers: the same seed gives the same requests. */
export interface Chance {
  /** A number from 0 (inclusive) to 1. */
  next(): number;
  /** An integer from 0 to `below` - 1. */
  below(below: number): number;
  /** True in this share of cases. */
  sometimes(share: number): boolean;
  pick<T>(from: readonly T[]): T;
}

/** Mulberry32: small, fast, and good enough for test input. */
export function chance(seed: number): Chance {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next,
    below: (below) => Math.floor(next() * below),
    sometimes: (share) => next() < share,
    pick: (from) => from[Math.floor(next() * from.length)] as (typeof from)[number],
  };
}

/** The same source without rare cases: what is rare does not happen, and what is usual always does. */
export function calm(dice: Chance): Chance {
  return { ...dice, sometimes: (share) => share >= 0.85 || (share > 0.15 && dice.sometimes(share)) };
}
