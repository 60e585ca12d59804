/** Recognizes digests it has seen, so that a cache need not store what is used only once. */
export interface SeenFilter {
  /** Whether `digest`, at least eight evenly distributed bytes, was seen before; records it. */
  seenBefore(digest: Buffer): boolean;
}

/**
 * Creates a filter of `slots`, a power of two, with four bytes each. A slot keeps the latest digest that maps to it:
 * a digest may be forgotten, and one in four billion is mistaken for another. Both only cost time.
 */
export function createSeenFilter(slots: number): SeenFilter {
  const latest = new Uint32Array(slots);
  return {
    seenBefore(digest) {
      const slot = digest.readUInt32LE(0) & (slots - 1);
      const tag = digest.readUInt32LE(4);
      if (latest[slot] === tag) return true;
      latest[slot] = tag;
      return false;
    },
  };
}
