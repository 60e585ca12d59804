/** Random choices, drawn from numbers of 0 to below 1. */
export function randomFrom(next: () => number) {
  const below = (n: number): number => Math.floor(next() * n);
  return {
    next,
    below,
    chance: (p: number): boolean => next() < p,
    pick: <T>(list: readonly T[]): T => list[below(list.length)] as T,
  };
}

export type Random = ReturnType<typeof randomFrom>;

/** Random choices that a seed repeats (mulberry32), so that a failing case can be run again. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return randomFrom(() => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  });
}
