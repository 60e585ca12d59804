import { createHash } from "node:crypto";
import type { Database } from "../db/types.ts";
import { claimStreams, setStreams } from "./stream-store.ts";

/** Gives the place of a stream back; later calls have no effect. */
export type ReleasePlace = () => void;

/** Places for open streams, shared by all instances. */
export interface StreamPlaces {
  /**
   * Takes a place for a stream of `principal`; undefined when all are taken.
   * @throws {unavailable} when the database is unavailable
   */
  take(principal: string): Promise<ReleasePlace | undefined>;
}

/** Dependencies of {@link createStreamPlaces}. */
export interface StreamPlacesDeps {
  database: Pick<Database, "prepared">;
  /** Returns the id of this process's liveness lock. */
  livenessId: () => Promise<string>;
  /** Maximum open streams of a principal. */
  most: number;
}

/**
 * Waits before a count that could not be written is written again, milliseconds. The last one is enough: an outage ends
 * the liveness lock as well, and with it the old count.
 */
const RETRY_DELAYS_MS = [1_000, 5_000, 30_000];

/** A principal's streams at this instance. */
interface Open {
  streams: number;
  /** Writes happen one after another, so that the last one has the latest count. */
  steps: Promise<unknown>;
  waiting: number;
  isSettling: boolean;
}

/**
 * Creates the places. Each instance writes its own count of a principal under the id of its liveness lock: those of a
 * process that was killed no longer count as soon as the database notices its end.
 */
export function createStreamPlaces({ database, livenessId, most }: StreamPlacesDeps): StreamPlaces {
  const principals = new Map<string, Open>();
  let lastId: string | undefined;

  function step<T>(principal: string, work: (open: Open) => Promise<T>): Promise<T> {
    const open = principals.get(principal) ?? newlyOpen();
    principals.set(principal, open);
    open.waiting++;
    const done = open.steps
      .then(() => work(open))
      .finally(() => {
        open.waiting--;
        if (open.waiting === 0 && open.streams === 0) principals.delete(principal);
      });
    open.steps = done.catch(() => undefined);
    return done;
  }

  /** Returns the id to count under. After a lost connection it is another one, under which nothing is counted yet. */
  async function instance(): Promise<string> {
    const id = await livenessId();
    if (id !== lastId && lastId !== undefined) for (const principal of principals.keys()) settle(principal);
    lastId = id;
    return id;
  }

  /** Writes the count of a principal, if necessary again later. */
  function settle(principal: string, attempt = 0): void {
    if (principals.get(principal)?.isSettling === true) return;
    const written = step(principal, async (open) => {
      open.isSettling = false;
      await setStreams(database, { id: idOf(principal), instance: await instance(), streams: open.streams });
    });
    (principals.get(principal) as Open).isSettling = true;
    written.catch(() => {
      const delayMs = RETRY_DELAYS_MS[attempt];
      if (delayMs !== undefined) setTimeout(settle, delayMs, principal, attempt + 1).unref();
    });
  }

  return {
    take: (principal) =>
      step(principal, async (open) => {
        if (open.streams >= most) return undefined;
        const holding = { id: idOf(principal), instance: await instance(), streams: open.streams + 1 };
        try {
          if (!(await claimStreams(database, holding, most))) return undefined;
        } catch (error) {
          // It may have been written all the same.
          settle(principal);
          throw error;
        }
        open.streams++;
        let isHeld = true;
        return () => {
          if (!isHeld) return;
          isHeld = false;
          open.streams--;
          settle(principal);
        };
      }),
  };
}

const newlyOpen = (): Open => ({ streams: 0, steps: Promise.resolve(), waiting: 0, isSettling: false });

const idOf = (principal: string): Buffer => createHash("sha256").update(`streams\n${principal}`).digest();
