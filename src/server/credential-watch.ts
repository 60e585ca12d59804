/** Interval at which the credentials of open streams are checked. A revoked one ends its streams within twice that. */
const INTERVAL_MS = 500;
/** Credentials checked at a time; other requests are served before the next ones. */
const BATCH_SIZE = 200;

/** Checks the credentials of open streams, each credential once, however many streams it has. */
export interface CredentialWatch {
  /**
   * Calls `end` with the rejection of `check`, as soon as it rejects.
   * @param credential streams with the same credential share their checks
   * @returns a function that stops watching
   */
  watch(credential: string | object, check: () => Promise<void>, end: (reason: unknown) => void): () => void;
}

interface Watched {
  check: () => Promise<void>;
  ends: Set<(reason: unknown) => void>;
}

/** Creates a watch with one timer for all streams; its checks reach the database in batches. */
export function createCredentialWatch(): CredentialWatch {
  const watched = new Map<string | object, Watched>();
  let timer: NodeJS.Timeout | undefined;

  async function checkOne(credential: string | object, { check, ends }: Watched): Promise<void> {
    try {
      await check();
    } catch (reason) {
      watched.delete(credential);
      for (const end of ends) end(reason);
    }
  }

  async function round(): Promise<void> {
    const all = [...watched];
    for (let from = 0; from < all.length; from += BATCH_SIZE) {
      await Promise.all(all.slice(from, from + BATCH_SIZE).map(([credential, one]) => checkOne(credential, one)));
      await new Promise((resolve) => setImmediate(resolve));
    }
    timer = undefined;
    schedule();
  }

  function schedule(): void {
    if (timer === undefined && watched.size > 0) timer = setTimeout(() => void round(), INTERVAL_MS).unref();
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

/** Passes on a stream until `watch` calls back with an error, which ends the stream even while it is waiting. */
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
    // A stream that waits for its next event ends by its signal, not by `return`.
    void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}
