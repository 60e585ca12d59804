import { createLog } from "../../src/platform/log.ts";
import type { Log } from "../../src/platform/log.ts";

/**
 * A log for services whose transactions must lock in one order, and the lines about those that ran again after a
 * deadlock (SQLSTATE 40P01). Each of these has cost a second, and a few of them make a 503.
 */
export function watchDeadlocks(): { log: Log; deadlocks: readonly string[] } {
  const deadlocks: string[] = [];
  const write = (line: string): void => {
    if (line.includes("40P01")) deadlocks.push(line.slice(0, 2_000));
  };
  return { log: createLog({ level: "debug", destination: { write } }), deadlocks };
}
