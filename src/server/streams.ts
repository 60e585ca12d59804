import type { HandlerContext } from "@connectrpc/connect";
import { errors } from "../platform/errors.ts";
import type { ReleasePlace, StreamPlaces } from "../platform/limits/index.ts";
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
   * @throws {unavailable} when the database is unavailable
   */
  hold<T>(context: HandlerContext, open: () => AsyncIterable<T>): AsyncIterable<T>;
}

/**
 * Creates the counter. Authenticated callers have their places at all instances together (decisions 13); without
 * `places` and for anonymous callers, whose streams must open while the database is away, each instance counts its own.
 */
export function createStreamSlots(places?: StreamPlaces): StreamSlots {
  const own = createOwnPlaces();

  async function acquire({ caller, info }: Call): Promise<ReleasePlace> {
    const release =
      caller === undefined
        ? own.take(`address:${limitKey(info.address)}`)
        : await (places ?? own).take(caller.countsAs ?? `${caller.principal.type}:${caller.principal.id}`);
    if (release !== undefined) return release;
    throw errors.rateLimited({
      message: `At most ${MAX_STREAMS} streams may be open at a time.`,
      retryAfter: RETRY_AFTER_SECONDS,
    });
  }

  return {
    async *hold(context, open) {
      const release = await acquire(callOf(context.values));
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

/** Places of this instance. */
function createOwnPlaces(): { take(principal: string): ReleasePlace | undefined } {
  const taken = new Map<string, number>();
  return {
    take(principal) {
      const count = taken.get(principal) ?? 0;
      if (count >= MAX_STREAMS) return undefined;
      taken.set(principal, count + 1);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        const left = (taken.get(principal) ?? 1) - 1;
        if (left === 0) taken.delete(principal);
        else taken.set(principal, left);
      };
    },
  };
}
