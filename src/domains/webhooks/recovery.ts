import { databaseTime } from "../../platform/db/time.ts";
import type { Database } from "../../platform/db/types.ts";
import { wakeRetries } from "../event-catalogue/index.ts";
import type { WebhookDeps } from "./deps.ts";
import type { RetryBatch } from "./failure-recorder.ts";
import { bringForward } from "./queue-store.ts";
import { lockWebhook } from "./store.ts";

/**
 * Creates a function that ends the failure of an endpoint after a success: its open retries become due at once, in
 * batches. Concurrent calls for one endpoint share the work. Until the last batch the endpoint counts as failing, so
 * that the next success continues after a crash.
 */
export function createRecovery({
  database,
  clock,
}: { database: Pick<Database, "transaction"> } & Pick<WebhookDeps, "clock">) {
  const running = new Map<string, Promise<void>>();

  /** Brings one batch forward; true when there may be more. */
  const recoverBatch = (webhookId: string, retries: RetryBatch | undefined): Promise<boolean> =>
    database.transaction(async (tx) => {
      // The lock waits for transactions that are adding deliveries to the retries, so that these become due too.
      if ((await lockWebhook(tx, webhookId)) === null) return false;
      const except = [...(retries?.attempted ?? [])];
      const { brought, more } = await bringForward(tx, webhookId, except, databaseTime(clock));
      if (brought > 0) await wakeRetries(tx, webhookId);
      return more;
    });

  async function recover(webhookId: string, retries: RetryBatch | undefined): Promise<void> {
    while (await recoverBatch(webhookId, retries));
  }

  return (webhookId: string, retries: RetryBatch | undefined): Promise<void> => {
    const known = running.get(webhookId);
    if (known !== undefined) return known;
    const work = recover(webhookId, retries).finally(() => running.delete(webhookId));
    running.set(webhookId, work);
    return work;
  };
}
