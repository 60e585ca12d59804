import type { Tx } from "./types.ts";

/** Milliseconds. */
const SHORT_WAIT_MS = 500;

/**
 * Makes the statements of a transaction for several requests fail when they wait long for a lock: each request then
 * gets a transaction of its own, which waits as long as it must.
 */
export function waitShortly(tx: Tx): void {
  tx.defer("select set_config('lock_timeout', $1, true)", [`${SHORT_WAIT_MS}ms`]);
}
