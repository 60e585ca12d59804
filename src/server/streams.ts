import type { HandlerContext } from "@connectrpc/connect";
import { errors } from "../platform/errors.ts";
import { limitKey } from "../platform/outgoing/address.ts";
import { callOf } from "./call.ts";
import type { Call } from "./call.ts";

/** Open streams of one principal at a time (decisions 13). */
export const MAX_STREAMS = 100;

/** Seconds after which a refused stream may be tried again; nobody knows when another one ends. */
const RETRY_AFTER_SECONDS = 5;

/** Counts the open streams of each principal; an anonymous principal is its address. */
export interface StreamSlots {
  /**
   * Passes a stream on while it holds one of its principal's places.
   * @throws {rate_limited} when the principal has as many open streams as it may
   */
  hold<T>(context: HandlerContext, open: () => AsyncIterable<T>): AsyncIterable<T>;
}

/** Builds the count. It is the instance's own: what it protects, connections and memory, is the instance's too. */
export function createStreamSlots(most = MAX_STREAMS): StreamSlots {
  const taken = new Map<string, number>();

  function take(principal: string): () => void {
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
      const release = take(principalOf(callOf(context.values)));
      // A stream whose client has gone is over, even while its implementation still waits for something to say.
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
