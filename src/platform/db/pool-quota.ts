import { AsyncLocalStorage } from "node:async_hooks";
import type { Pool, PoolClient } from "pg";
import type { Requester } from "./types.ts";

/**
 * Maximum wait of an owner that uses its whole quota, milliseconds. Together with the wait for a connection it stays
 * below 10 s.
 */
const WAIT_MS = 1_500;
/**
 * too_many_connections. `mapFailure` maps it to `unavailable`, also where the ORM has copied the error: of that copy,
 * only the code tells what it was.
 */
const TOO_MANY = "53300";

interface Usage {
  used: number;
  waiting: (() => void)[];
}

/** Limits how many connections of one pool the same owner (organization or person) may use at a time. */
export interface PoolQuota {
  /**
   * Returns a connection that the caller releases. It counts to the owner of the current request, otherwise to
   * `requester`.
   */
  connect(requester?: Requester): Promise<PoolClient>;
  /** Runs a statement, counting one connection to the owner of the current request. */
  run<T>(statement: () => Promise<T>): Promise<T>;
}

/** The owner of the current request, so that every statement it causes counts to the same quota. */
export interface RequestOwner {
  /** Runs a request of `requester`. */
  run<T>(requester: Requester, request: () => T): T;
  /** Undefined outside requests. */
  current(): string | undefined;
}

/** Creates a `RequestOwner`. The context costs about 200 ns per request, so a request without an owner has none. */
export function createRequestOwner(): RequestOwner {
  const requests = new AsyncLocalStorage<string>();
  return {
    run(requester, request) {
      const owner = ownerOf(requester);
      return owner === undefined ? request() : requests.run(owner, request);
    },
    current: () => requests.getStore(),
  };
}

/** For background work, which a request may trigger but which does not serve that request alone. */
export const NO_OWNER: Pick<RequestOwner, "current"> = { current: () => undefined };

/** Allows each owner half of the pool (decisions 13); an owner that asks for more waits for its own connections. */
export function createPoolQuota(pool: Pool, requestOwner: Pick<RequestOwner, "current">): PoolQuota {
  const limit = Math.max(1, Math.floor(pool.options.max / 2));
  const usages = new Map<string, Usage>();
  const owners = new WeakMap<PoolClient, string>();

  function free(owner: string): void {
    const usage = usages.get(owner);
    if (usage === undefined) return;
    const next = usage.waiting.shift();
    if (next !== undefined) next();
    else if (--usage.used === 0) usages.delete(owner);
  }

  /** Returns undefined when the owner is below its limit. */
  function take(owner: string): Promise<void> | undefined {
    const usage = usages.get(owner) ?? { used: 0, waiting: [] };
    usages.set(owner, usage);
    if (usage.used < limit) {
      usage.used++;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const next = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        usage.waiting.splice(usage.waiting.indexOf(next), 1);
        reject(Object.assign(new Error("too many concurrent statements of one organization"), { code: TOO_MANY }));
      }, WAIT_MS);
      usage.waiting.push(next);
    });
  }

  pool.on("release", (_error, client) => {
    const owner = owners.get(client);
    if (owner === undefined) return;
    owners.delete(client);
    free(owner);
  });

  return {
    async connect(requester) {
      const owner = requestOwner.current() ?? ownerOf(requester);
      if (owner === undefined) return pool.connect();
      const wait = take(owner);
      if (wait !== undefined) await wait;
      try {
        const client = await pool.connect();
        owners.set(client, owner);
        return client;
      } catch (error) {
        free(owner);
        throw error;
      }
    },
    async run(statement) {
      const owner = requestOwner.current();
      if (owner === undefined) return statement();
      const wait = take(owner);
      if (wait !== undefined) await wait;
      try {
        return await statement();
      } finally {
        free(owner);
      }
    },
  };
}

/**
 * Returns the organization, otherwise the person, whose quota is used. Requests of public routes have no owner: many
 * people may share an address, and rate limits bound its requests.
 */
function ownerOf({ orgUuid, principal }: Requester = {}): string | undefined {
  return orgUuid ?? principal?.id;
}
