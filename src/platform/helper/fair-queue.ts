/** Waiting items, taken round-robin over their senders. */
export interface FairQueue<T> {
  size(): number;
  add(from: string, item: T): void;
  /** Removes and returns the next item; those of one sender in the order they were added. */
  take(): T | undefined;
  /**
   * Removes and returns the latest item of the sender with the longest queue, provided that the queue of `from` would
   * stay shorter with one item more.
   */
  displaceFor(from: string): T | undefined;
  /** Removes and returns everything. */
  clear(): T[];
}

/** Creates an empty queue. */
export function createFairQueue<T>(): FairQueue<T> {
  /** By sender, in the order of their turns; none is empty. */
  const queues = new Map<string, T[]>();
  let size = 0;

  function longest(): [from: string, queue: T[]] | undefined {
    let found: [string, T[]] | undefined;
    for (const entry of queues) if (found === undefined || entry[1].length > found[1].length) found = entry;
    return found;
  }

  return {
    size: () => size,
    add(from, item) {
      const queue = queues.get(from);
      if (queue === undefined) queues.set(from, [item]);
      else queue.push(item);
      size++;
    },
    take() {
      const [next] = queues;
      if (next === undefined) return undefined;
      const [from, queue] = next;
      const item = queue.shift();
      queues.delete(from);
      if (queue.length > 0) queues.set(from, queue);
      size--;
      return item;
    },
    displaceFor(from) {
      const found = longest();
      if (found === undefined) return undefined;
      const [other, queue] = found;
      if (queue.length <= (queues.get(from)?.length ?? 0) + 1) return undefined;
      const item = queue.pop();
      if (queue.length === 0) queues.delete(other);
      size--;
      return item;
    },
    clear() {
      const all = [...queues.values()].flat();
      queues.clear();
      size = 0;
      return all;
    },
  };
}
