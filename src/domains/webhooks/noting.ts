import type { Database } from "../../platform/db/types.ts";
import { withoutTrace } from "../../platform/tracing.ts";
import * as queue from "./queue-store.ts";
import type { AttemptRecord } from "./store.ts";

/** Most successes that are noted with one statement. */
const MOST = 200;

interface Waiting {
  deliveryId: string;
  attempt: AttemptRecord;
  done(isFailing: boolean): void;
  failed(error: unknown): void;
}

/**
 * Notes successes: those that come while a statement is under way share the next one. Answers whether the endpoint was
 * failing until now. What cannot be noted together is noted one by one.
 */
export function createNoting(database: Pick<Database, "prepared">) {
  const waiting: Waiting[] = [];
  let busy = false;

  async function note(batch: readonly Waiting[]): Promise<void> {
    try {
      const failing = await queue.markDelivered(database, batch);
      for (const { deliveryId, done } of batch) done(failing.has(deliveryId));
    } catch (error) {
      if (batch.length > 1) await Promise.all(batch.map((one) => note([one])));
      else batch[0]?.failed(error);
    }
  }

  async function work(): Promise<void> {
    busy = true;
    while (waiting.length > 0) await note(waiting.splice(0, MOST));
    busy = false;
  }

  return (deliveryId: string, attempt: AttemptRecord): Promise<boolean> =>
    new Promise((done, failed) => {
      waiting.push({ deliveryId, attempt, done, failed });
      if (!busy) void withoutTrace(work);
    });
}
