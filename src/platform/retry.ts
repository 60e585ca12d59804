import { StartError } from "./start-error.ts";
import { ServiceError } from "./errors.ts";

/**
 * Runs `work`, and repeats it for at most `withinMs` while it fails because a dependency is unavailable (503). For the
 * start of the program; later, a caller gets the 503 at once.
 * @throws StartError at once when it is the cause, because a retry does not help.
 * @throws the last error when the time is over, or any other error.
 */
export async function retryWhileUnavailable<T>(work: () => Promise<T>, withinMs: number): Promise<T> {
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
