import { StartError } from "./start-error.ts";
import { ServiceError } from "./errors.ts";

/**
 * Does `work`, again and again while it fails because something it needs is away (503), for at most `withinMs`; then
 * the last failure counts. For the start of the program: later on a caller is told at once.
 * @throws StartError at once when that is the cause: waiting does not mend it.
 */
export async function whileUnavailable<T>(work: () => Promise<T>, withinMs: number): Promise<T> {
  const until = performance.now() + withinMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ServiceError && error.cause instanceof StartError) throw error.cause;
      if (!(error instanceof ServiceError) || error.status !== 503 || performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}
