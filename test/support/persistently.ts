import { setTimeout as sleep } from "node:timers/promises";

/** Calls at most: with the waits between them, ten times and more what a busy machine takes. */
const MAX_CALLS = 200;
const WAIT_MS = 100;

/**
 * Repeats a call while it returns 503, as clients do: on a busy machine a crowd of calls waits longer for connections
 * and locks than the service lets them. `again` says that there was more than one: the last response may speak of what
 * an earlier call did.
 */
export async function persistently<T extends { status: number }>(
  call: () => Promise<T>,
): Promise<T & { again: boolean }> {
  for (let calls = 1; ; calls++) {
    const answer = await call();
    if (answer.status !== 503 || calls === MAX_CALLS) return { ...answer, again: calls > 1 };
    await sleep(WAIT_MS);
  }
}
