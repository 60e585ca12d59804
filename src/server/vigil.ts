/**
 * How often the credentials of open streams are looked at, milliseconds. A revoked one ends its streams within twice
 * that.
 */
const everyMs = 500;
/** Credentials that are looked at together; other requests have their turn before the next ones are. */
const together = 200;

/** Watches over the credentials of open streams, each of them once, however many streams it has. */
export interface Vigil {
  /**
   * Calls `end` with what `check` rejects with, as soon as it does.
   * @param credential streams with the same one share their checks
   * @returns a function that stops it
   */
  watch(credential: string, check: () => Promise<void>, end: (reason: unknown) => void): () => void;
}

interface Watched {
  check: () => Promise<void>;
  ends: Set<(reason: unknown) => void>;
}

/** One timer for all streams of a server: what they ask goes to the database in batches, and never all at once. */
export function createVigil(): Vigil {
  const watched = new Map<string, Watched>();
  let timer: NodeJS.Timeout | undefined;

  async function judge(credential: string, { check, ends }: Watched): Promise<void> {
    try {
      await check();
    } catch (reason) {
      watched.delete(credential);
      for (const end of ends) end(reason);
    }
  }

  async function round(): Promise<void> {
    const all = [...watched];
    for (let from = 0; from < all.length; from += together) {
      await Promise.all(all.slice(from, from + together).map(([credential, one]) => judge(credential, one)));
      await new Promise((resolve) => setImmediate(resolve));
    }
    timer = undefined;
    schedule();
  }

  function schedule(): void {
    if (timer === undefined && watched.size > 0) timer = setTimeout(() => void round(), everyMs).unref();
  }

  return {
    watch(credential, check, end) {
      const one = watched.get(credential) ?? { check, ends: new Set<(reason: unknown) => void>() };
      watched.set(credential, one);
      one.ends.add(end);
      schedule();
      return () => {
        one.ends.delete(end);
        if (one.ends.size === 0 && watched.get(credential) === one) watched.delete(credential);
      };
    },
  };
}

/**
 * Passes a stream on until `watch` calls back, whether or not the stream has anything to say at that moment: what it is
 * called back with ends the stream.
 */
export async function* whileValid<T>(
  stream: AsyncIterable<T>,
  watch: (end: (reason: unknown) => void) => () => void,
): AsyncIterable<T> {
  const iterator = stream[Symbol.asyncIterator]();
  let fault: { reason: unknown } | undefined;
  let interrupt: ((reason: unknown) => void) | undefined;
  const stop = watch((reason) => {
    fault = { reason };
    interrupt?.(reason);
  });
  try {
    for (;;) {
      if (fault !== undefined) throw fault.reason;
      const next = await new Promise<IteratorResult<T>>((resolve, reject) => {
        interrupt = reject;
        iterator.next().then(resolve, reject);
      });
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    stop();
    // One that waits for its next event hears of the end by its signal, not here.
    void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}
