/** A source of chance: returns an integer from 0 to below the given number. */
export type Chance = (below: number) => number;

/** A linear congruential generator: the same numbers in every run. */
export function chance(seed: number): Chance {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** A copy with one to three bytes changed; some are cut off too, and some have bytes at the end. */
export function mutate(original: Buffer, next: Chance): Buffer {
  let mutated: Buffer = Buffer.from(original);
  for (let times = 0; times <= next(3); times++) mutated[next(mutated.length)] = next(256);
  if (next(4) === 0) mutated = mutated.subarray(0, next(mutated.length));
  if (next(8) === 0) mutated = Buffer.concat([mutated, Buffer.alloc(next(16) + 1)]);
  return mutated;
}
