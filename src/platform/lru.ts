/** A map that forgets what was used least recently when it is full. */
export interface Lru<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  delete(key: string): void;
}

/** A map of at most `size` entries. */
export function createLru<V>(size: number): Lru<V> {
  // Two generations instead of a list: a hit in the older one moves the entry up, a full younger one becomes
  // the older. A lookup costs one map access, and the bound holds.
  const half = Math.max(1, Math.floor(size / 2));
  let young = new Map<string, V>();
  let old = new Map<string, V>();

  function set(key: string, value: V): void {
    if (young.size >= half && !young.has(key)) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
  }

  return {
    get(key) {
      const found = young.get(key);
      if (found !== undefined) return found;
      const older = old.get(key);
      if (older !== undefined) set(key, older);
      return older;
    },
    set,
    delete(key) {
      young.delete(key);
      old.delete(key);
    },
  };
}
