import type { Random } from "./random-of.ts";

/** A copy with one to three bytes changed; some are cut off too, and some have bytes at the end. */
export function mutate(original: Buffer, next: Random["below"]): Buffer {
  let mutated: Buffer = Buffer.from(original);
  for (let times = 0; times <= next(3); times++) mutated[next(mutated.length)] = next(256);
  if (next(4) === 0) mutated = mutated.subarray(0, next(mutated.length));
  if (next(8) === 0) mutated = Buffer.concat([mutated, Buffer.alloc(next(16) + 1)]);
  return mutated;
}
