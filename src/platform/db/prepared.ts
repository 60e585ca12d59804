import type { Pool } from "pg";
import { tracing, withSpan } from "../tracing.ts";
import { SPAN_ATTRIBUTES } from "./connection.ts";
import { mapFailure } from "./failure.ts";
import type { Guard } from "./guard.ts";
import type { PoolQuota } from "./pool-quota.ts";
import type { Database } from "./types.ts";

/** PostgreSQL cuts longer names of statements, so that two could become one. */
const MAX_NAME = 63;

/** Creates `Database.prepared` on a pool; without a quota, any owner may use all of its connections. */
export function createPrepared(pool: Pool, guard: Guard | undefined, quota?: PoolQuota): Database["prepared"] {
  return async <R extends object>(name: string, text: string, params: readonly unknown[]) => {
    guard?.assertNoTransaction(`the statement ${name}`);
    guard?.assertReadOnly(name, text);
    if (guard !== undefined && name.length > MAX_NAME)
      throw new Error(`the name of the statement ${name} is longer than ${MAX_NAME} characters`);
    try {
      // The span starts here: a statement that waits is sent in the asynchronous context that frees its connection.
      const query = () => pool.query<R>({ name, text, values: params as unknown[] });
      const send = () => (quota === undefined ? query() : quota.run(query));
      return (await (tracing() ? withSpan(`SQL ${name}`, send, SPAN_ATTRIBUTES) : send())).rows;
    } catch (error) {
      throw mapFailure(error);
    }
  };
}
