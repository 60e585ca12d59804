import { AsyncLocalStorage } from "node:async_hooks";
import type { Pool, PoolClient } from "pg";
import { errors } from "../errors.ts";
import type { OnBehalf } from "./types.ts";

/**
 * How long somebody who holds their whole share waits for a part of it, milliseconds; with the wait for a connection
 * below 10 s.
 */
const WAIT_MS = 1_500;

interface Share {
  held: number;
  waiting: (() => void)[];
}

/** Connections of a pool, of which no organization holds more than its share, and nobody who acts in none either. */
export interface Shares {
  /** A connection to release, out of the share of the request under way, else of `onBehalf`. */
  connect(onBehalf?: OnBehalf): Promise<PoolClient>;
  /** Runs a statement on a connection out of the share of the request under way. */
  run<T>(statement: () => Promise<T>): Promise<T>;
}

/** Whose requests are under way, so that every statement they cause counts to the same share, whoever sends it. */
export interface Sharing {
  /** Runs a request of somebody. */
  of<T>(who: OnBehalf, request: () => T): T;
  /** Whose share the request under way uses; undefined outside of requests. */
  current(): string | undefined;
}

/** Builds a `Sharing` of its own. The context costs some 200 ns each time, so requests that ask nothing go without. */
export function createSharing(): Sharing {
  const requests = new AsyncLocalStorage<string>();
  return {
    of(who, request) {
      const owner = ownerOf(who);
      return owner === undefined ? request() : requests.run(owner, request);
    },
    current: () => requests.getStore(),
  };
}

/** For work in the background, which a request may set off but which is not done for it alone. */
export const unshared: Pick<Sharing, "current"> = { current: () => undefined };

/** Lets each hold at most half of a pool (decisions 13); whoever asks for more waits in line for their own. */
export function createShares(pool: Pool, sharing: Pick<Sharing, "current">): Shares {
  const most = Math.max(1, Math.floor(pool.options.max / 2));
  const shares = new Map<string, Share>();
  const holders = new WeakMap<PoolClient, string>();

  function free(of: string): void {
    const share = shares.get(of);
    if (share === undefined) return;
    const next = share.waiting.shift();
    if (next !== undefined) next();
    else if (--share.held === 0) shares.delete(of);
  }

  /** Undefined when there is room. */
  function take(of: string): Promise<void> | undefined {
    const share = shares.get(of) ?? { held: 0, waiting: [] };
    shares.set(of, share);
    if (share.held < most) {
      share.held++;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const next = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        share.waiting.splice(share.waiting.indexOf(next), 1);
        reject(
          errors.unavailable({ retryAfter: 1, cause: new Error("too many statements of one organization at once") }),
        );
      }, WAIT_MS);
      share.waiting.push(next);
    });
  }

  pool.on("release", (_error, client) => {
    const of = holders.get(client);
    if (of === undefined) return;
    holders.delete(client);
    free(of);
  });

  return {
    async connect(onBehalf) {
      const of = sharing.current() ?? ownerOf(onBehalf);
      if (of === undefined) return pool.connect();
      const room = take(of);
      if (room !== undefined) await room;
      try {
        const client = await pool.connect();
        holders.set(client, of);
        return client;
      } catch (error) {
        free(of);
        throw error;
      }
    },
    async run(statement) {
      const of = sharing.current();
      if (of === undefined) return statement();
      const room = take(of);
      if (room !== undefined) await room;
      try {
        return await statement();
      } finally {
        free(of);
      }
    },
  };
}

/**
 * Whose share somebody uses: the organization's, else the person's. Requests of public routes count to nobody: many
 * people may come from one address, and the rate limits bound what it asks for.
 */
function ownerOf({ orgUuid, principal }: OnBehalf = {}): string | undefined {
  return orgUuid ?? principal?.id;
}
