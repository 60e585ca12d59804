/** A bounded map that evicts the least recently used entries, approximately. */
export interface Lru<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  delete(key: string): void;
}

/** Creates a map of at most `size` entries. */
export function createLru<V>(size: number): Lru<V> {
  // Two generations instead of a linked list: a hit in the older one moves the entry to the younger one, and a full
  // younger one replaces the older. A hit in the younger one costs one map access.
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
