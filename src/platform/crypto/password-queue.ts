/** Items that wait, taken in turn from each of those who sent them. */
export interface FairQueue<T> {
  size(): number;
  add(from: string, item: T): void;
  /** The next item; each sender's own leave in the order they came in. */
  take(): T | undefined;
  /**
   * Removes and returns the latest item of whoever has most waiting, where `from` would still have fewer with one more.
   */
  displaceFor(from: string): T | undefined;
  /** Removes and returns everything. */
  clear(): T[];
}

/** A queue that is round robin over its senders. */
export function createFairQueue<T>(): FairQueue<T> {
  /** In the order of their turns; nobody's line is empty. */
  const lines = new Map<string, T[]>();
  let size = 0;

  function longest(): [from: string, line: T[]] | undefined {
    let found: [string, T[]] | undefined;
    for (const entry of lines) if (found === undefined || entry[1].length > found[1].length) found = entry;
    return found;
  }

  return {
    size: () => size,
    add(from, item) {
      const line = lines.get(from);
      if (line === undefined) lines.set(from, [item]);
      else line.push(item);
      size++;
    },
    take() {
      const [next] = lines;
      if (next === undefined) return undefined;
      const [from, line] = next;
      const item = line.shift();
      lines.delete(from);
      if (line.length > 0) lines.set(from, line);
      size--;
      return item;
    },
    displaceFor(from) {
      const found = longest();
      if (found === undefined) return undefined;
      const [other, line] = found;
      if (line.length <= (lines.get(from)?.length ?? 0) + 1) return undefined;
      const item = line.pop();
      if (line.length === 0) lines.delete(other);
      size--;
      return item;
    },
    clear() {
      const all = [...lines.values()].flat();
      lines.clear();
      size = 0;
      return all;
    },
  };
}
