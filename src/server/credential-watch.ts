/**
 * Interval at which the credentials of open streams are checked. One that is revoked, or has lost a right that a stream
 * needs, ends its streams within twice that.
 */
export const INTERVAL_MS = 500;
/** Credentials checked at a time; other requests are served before the next ones. */
const BATCH_SIZE = 200;

/** An open stream. */
export interface WatchedStream<Holder> {
  /** Throws when the present holder of the credential may no longer read the stream. */
  accept(holder: Holder): void | Promise<void>;
  end(reason: unknown): void;
}

/** Checks the credentials of open streams, each credential once, however many streams it has. */
export interface CredentialWatch<Holder> {
  /**
   * Calls `end` with the rejection of `check`, or with what `accept` throws for the holder that `check` resolves to.
   * @param credential streams with the same credential share their checks
   * @returns a function that stops watching
   */
  watch(credential: string | object, check: () => Promise<Holder>, stream: WatchedStream<Holder>): () => void;
}

interface Watched<Holder> {
  check: () => Promise<Holder>;
  streams: Set<WatchedStream<Holder>>;
}

/** Creates a watch with one timer for all streams; its checks reach the database in batches. */
export function createCredentialWatch<Holder>(): CredentialWatch<Holder> {
  const watched = new Map<string | object, Watched<Holder>>();
  let timer: NodeJS.Timeout | undefined;

  async function checkOne(credential: string | object, { check, streams }: Watched<Holder>): Promise<void> {
    let holder: Holder;
    try {
      holder = await check();
    } catch (reason) {
      watched.delete(credential);
      for (const stream of streams) stream.end(reason);
      return;
    }
    for (const stream of streams) {
      try {
        const accepted = stream.accept(holder);
        if (accepted !== undefined) await accepted;
      } catch (reason) {
        streams.delete(stream);
        stream.end(reason);
      }
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
    watch(credential, check, stream) {
      const one = watched.get(credential) ?? { check, streams: new Set<WatchedStream<Holder>>() };
      watched.set(credential, one);
      one.streams.add(stream);
      schedule();
      return () => {
        one.streams.delete(stream);
        if (one.streams.size === 0 && watched.get(credential) === one) watched.delete(credential);
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
