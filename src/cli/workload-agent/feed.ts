/** A value that changes, and readers who want every reader's latest value. */
export interface Feed<T> {
  current(): T;
  set(value: T): void;
  /** The present value, then later ones without those a slow reader missed. Ends with the signal. */
  watch(signal: AbortSignal): AsyncIterable<T>;
}

/** Creates a feed. */
export function createFeed<T>(first: T): Feed<T> {
  let value = first;
  let version = 0;
  /** Readers that wait. A reader that ends is removed: a shared promise would retain it until the next change. */
  const waiting = new Set<() => void>();
  const change = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      waiting.add(wake);
      signal.addEventListener("abort", wake);
    });
  return {
    current: () => value,
    set(next) {
      value = next;
      version++;
      for (const wake of waiting) wake();
    },
    async *watch(signal) {
      for (let seen = -1; !signal.aborted; ) {
        if (seen !== version) {
          seen = version;
          yield value;
        } else await change(signal);
      }
    },
  };
}
