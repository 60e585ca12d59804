import { createHelperPool } from "../../platform/helper/pool.ts";
import { templateErrors } from "./errors.ts";
import { readBody } from "./readings.ts";
import type { ReadJob, Readings, ReadResult } from "./readings.ts";

/** Longer bodies are read by the helper process: they take more than a few milliseconds, the longest half a second. */
const MAX_SHORT = 4_096;

/**
 * Reads the bodies of templates. Long ones are read by a helper process, one after the other and round-robin over
 * organizations, so that they delay no other request.
 */
export interface Reader {
  /**
   * @throws {invalid_template} when the body is refused
   * @throws {unavailable} when too many bodies wait
   */
  read<As extends keyof Readings>(as: As, body: string, orgUuid: string): Promise<Readings[As]>;
  /** Ends the helper. */
  close(): Promise<void>;
}

/** Creates a reader. Its helper starts with the first long body, and ends when there was none for a minute. */
export function createReader(): Reader {
  const pool = createHelperPool<ReadJob, ReadResult>({
    name: "template helper",
    program: new URL("./reader-worker.ts", import.meta.url),
    concurrency: 1,
    queueMs: 10_000,
    niceness: 10,
    idleMs: 60_000,
  });
  return {
    async read<As extends keyof Readings>(as: As, body: string, orgUuid: string) {
      const job = { as, body };
      const result = body.length <= MAX_SHORT ? readBody(job) : await pool.run(job, orgUuid);
      if ("refused" in result) throw templateErrors.invalidTemplate({ message: result.refused });
      return result.reading as Readings[As];
    },
    close: () => pool.close(),
  };
}
