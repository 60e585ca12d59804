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
  let changed = Promise.withResolvers<void>();
  return {
    current: () => value,
    set(next) {
      value = next;
      version++;
      changed.resolve();
      changed = Promise.withResolvers();
    },
    async *watch(signal) {
      const { promise: aborted, resolve } = Promise.withResolvers<void>();
      if (signal.aborted) return;
      signal.addEventListener("abort", () => resolve(), { once: true });
      for (let seen = -1; !signal.aborted; ) {
        if (seen !== version) {
          seen = version;
          yield value;
        } else await Promise.race([changed.promise, aborted]);
      }
    },
  };
}
