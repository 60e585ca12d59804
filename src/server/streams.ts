import type { HandlerContext } from "@connectrpc/connect";
import { errors } from "../platform/errors.ts";
import { limitKey } from "../platform/outgoing/address.ts";
import { callOf } from "./call.ts";
import type { Call } from "./call.ts";

/** Maximum open streams of one principal (decisions 13). */
export const MAX_STREAMS = 100;

/** `Retry-After` of a refused stream; when another one ends is unknown. */
const RETRY_AFTER_SECONDS = 5;

/** Counts the open streams of each principal; an anonymous caller is identified by address. */
export interface StreamSlots {
  /**
   * Forwards a stream, which counts for its principal until it ends.
   * @throws {rate_limited} when the principal has the maximum of open streams
   */
  hold<T>(context: HandlerContext, open: () => AsyncIterable<T>): AsyncIterable<T>;
}

/** Creates the counter. Each instance has its own, as the connections and memory it protects are the instance's. */
export function createStreamSlots(most = MAX_STREAMS): StreamSlots {
  const taken = new Map<string, number>();

  function acquire(principal: string): () => void {
    const count = taken.get(principal) ?? 0;
    if (count >= most)
      throw errors.rateLimited({
        message: `At most ${most} streams may be open at a time.`,
        retryAfter: RETRY_AFTER_SECONDS,
      });
    taken.set(principal, count + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const left = (taken.get(principal) ?? 1) - 1;
      if (left === 0) taken.delete(principal);
      else taken.set(principal, left);
    };
  }

  return {
    async *hold(context, open) {
      const release = acquire(principalOf(callOf(context.values)));
      // A stream whose client has gone ends, even while its implementation waits for the next event.
      context.signal.addEventListener("abort", release, { once: true });
      try {
        if (!context.signal.aborted) yield* open();
      } finally {
        release();
      }
    },
  };
}

function principalOf({ caller, info }: Call): string {
  if (caller === undefined) return `address:${limitKey(info.address)}`;
  return caller.countsAs ?? `${caller.principal.type}:${caller.principal.id}`;
}
