import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../platform/db/types.ts";
import { withoutTrace } from "../../platform/tracing.ts";
import { markDelivered } from "./queue-store.ts";
import type { AttemptRecord } from "./store.ts";

/** Successes that one statement records. */
const BATCH = 200;
/** Wait after a statement, in which successes gather for the next one. */
const GATHER_MS = 10;

interface Waiting {
  deliveryId: string;
  attempt: AttemptRecord;
  resolve(wasFailing: boolean): void;
  reject(error: unknown): void;
}

/**
 * Creates a function that records a success and resolves to whether the endpoint was failing until then. Successes that
 * come while a statement runs, or shortly after it, share the next one; a batch that cannot be recorded is recorded one
 * by one.
 */
export function createSuccessRecorder(database: Pick<Database, "prepared">) {
  const waiting: Waiting[] = [];
  let isRunning = false;

  async function record(batch: readonly Waiting[]): Promise<void> {
    try {
      const failing = await markDelivered(database, batch);
      for (const { deliveryId, resolve } of batch) resolve(failing.has(deliveryId));
    } catch (error) {
      if (batch.length > 1) await Promise.all(batch.map((one) => record([one])));
      else batch[0]?.reject(error);
    }
  }

  async function run(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) {
      await record(waiting.splice(0, BATCH));
      if (waiting.length < BATCH) await sleep(GATHER_MS);
    }
    isRunning = false;
  }

  return (deliveryId: string, attempt: AttemptRecord): Promise<boolean> =>
    new Promise((resolve, reject) => {
      waiting.push({ deliveryId, attempt, resolve, reject });
      if (!isRunning) void withoutTrace(run);
    });
}
