import { setImmediate } from "node:timers/promises";
import { withoutTrace } from "../../../platform/tracing.ts";

/** How work is done in batches. */
export interface BatchWork<T> {
  /** Maximum number of items of a batch. */
  most: number;
  /** Maximum size of a batch, bytes; a larger item is a batch of its own. */
  mostBytes: number;
  sizeOf(item: T): number;
  /** Does all items, or none. */
  together(items: readonly T[]): Promise<void>;
  /** Does one item, of a batch that was not done. */
  alone(item: T): Promise<void>;
  /** Whether items of a batch that fails with this error would fail alone too. */
  isFinal(error: unknown): boolean;
}

interface Waiting<T> {
  item: T;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Does items that arrive while others are under way together: one at a time while there is little to do, many with one
 * commit where there is much. When a batch fails, each of its items is done alone, so that none fails for another.
 * @returns a function that resolves when its item is done
 */
export function createBatches<T>(work: BatchWork<T>): (item: T) => Promise<void> {
  const waiting: Waiting<T>[] = [];
  let isRunning = false;

  function next(): Waiting<T>[] {
    let [count, size] = [0, 0];
    for (const { item } of waiting) {
      size += work.sizeOf(item);
      if (count === work.most || (count > 0 && size > work.mostBytes)) break;
      count++;
    }
    return waiting.splice(0, count);
  }

  function doAlone({ item, resolve, reject }: Waiting<T>): void {
    work.alone(item).then(resolve, reject);
  }

  async function run(): Promise<void> {
    isRunning = true;
    // What arrives in the same turn of the event loop joins.
    await setImmediate();
    for (let batch = next(); batch.length > 0; batch = next()) {
      try {
        await work.together(batch.map(({ item }) => item));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const one of batch)
          if (work.isFinal(error)) one.reject(error);
          else doAlone(one);
      }
    }
    isRunning = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!isRunning) void withoutTrace(run);
    });
}
