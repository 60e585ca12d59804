let previous: Promise<unknown> = Promise.resolve();

/**
 * Runs `generate` when no RSA key is being generated. A key takes a thread of the pool for seconds: keys are generated
 * one at a time, so that other work keeps the rest of the pool.
 */
export function generateRsaInTurn<T>(generate: () => Promise<T>): Promise<T> {
  const pair = previous.then(generate);
  previous = pair.catch(() => undefined);
  return pair;
}
