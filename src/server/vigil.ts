/** How often the credential of an open stream is looked at, milliseconds. A revoked one ends the stream within twice that. */
const everyMs = 500;

/**
 * Passes a stream on for as long as `check` resolves. What it rejects with ends the stream, whether or not the stream
 * has anything to say at that moment.
 */
export async function* whileValid<T>(stream: AsyncIterable<T>, check: () => Promise<void>): AsyncIterable<T> {
  const iterator = stream[Symbol.asyncIterator]();
  let fault: { reason: unknown } | undefined;
  let interrupt: ((reason: unknown) => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  let over = false;

  function end(reason: unknown): void {
    fault = { reason };
    interrupt?.(reason);
  }
  function watch(): void {
    if (!over) timer = setTimeout(() => void check().then(watch, end), everyMs).unref();
  }
  watch();
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
    over = true;
    clearTimeout(timer);
    // One that waits for its next event hears of the end by its signal, not here.
    void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}
