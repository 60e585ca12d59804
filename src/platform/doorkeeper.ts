/** Recognizes what came before, so that a cache need not keep what comes only once. */
export interface Doorkeeper {
  /** Whether `digest`, at least eight evenly distributed bytes, came before; records that it came. */
  admits(digest: Buffer): boolean;
}

/**
 * Creates a doorkeeper of `slots`, a power of two, at four bytes each. A slot holds the digest that came to it last: a
 * digest may be forgotten, and one in four billion is mistaken for another. Both cost time only.
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
