import { randomOf } from "../support/random-of.ts";

/** Repeatable random numbers: the same seed gives the same requests. */
export interface Chance {
  /** An integer from 0 to `below` - 1. */
  below(below: number): number;
  /** True in this share of cases. */
  sometimes(share: number): boolean;
  pick<T>(from: readonly T[]): T;
}

/** The numbers of a seed. */
export function chance(seed: number): Chance {
  const { below, pick, chance: sometimes } = randomOf(seed);
  return { below, pick, sometimes };
}

/** The same source without rare cases: what is rare does not happen, and what is usual always does. */
export function calm(dice: Chance): Chance {
  return { ...dice, sometimes: (share) => share >= 0.85 || (share > 0.15 && dice.sometimes(share)) };
}
