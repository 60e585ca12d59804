/** Tells what has come before from what comes for the first time, so that a cache need not keep what comes once. */
export interface Doorkeeper {
  /** Whether `digest`, at least eight evenly distributed bytes, came before; notes that it came. */
  admits(digest: Buffer): boolean;
}

/**
 * A doorkeeper of `slots`, a power of two, at four bytes each. A slot remembers the digest that came to it last: a
 * digest may be forgotten, and one in four billion is taken for another. Either costs time alone.
 */
export function createDoorkeeper(slots: number): Doorkeeper {
  const last = new Uint32Array(slots);
  return {
    admits(digest) {
      const slot = digest.readUInt32LE(0) & (slots - 1);
      const tag = digest.readUInt32LE(4);
      if (last[slot] === tag) return true;
      last[slot] = tag;
      return false;
    },
  };
}
