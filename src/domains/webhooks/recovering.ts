import type { Database } from "../../platform/db/types.ts";
import { databaseTime } from "../../platform/db/time.ts";
import type { WebhookDeps } from "./deps.ts";
import { wakeRetries } from "../event-catalogue/index.ts";
import type { Turn } from "./failing.ts";
import { bringForward } from "./queue-store.ts";
import { lockWebhook } from "./store.ts";

/**
 * What follows when an endpoint answers again: what waits goes out at once, brought forward in batches. Successes that
 * come meanwhile share the work. Until the last batch the endpoint counts as failing, so that whoever comes after a
 * crash goes on.
 */
export function createRecovering({
  database,
  clock,
}: { database: Pick<Database, "transaction"> } & Pick<WebhookDeps, "clock">) {
  const underWay = new Map<string, Promise<void>>();

  /** The lock waits for whoever is about to join the retries, so that they are brought forward too. */
  const batch = (webhookId: string, turn: Turn | undefined): Promise<boolean> =>
    database.transaction(async (tx) => {
      if ((await lockWebhook(tx, webhookId)) === null) return false;
      const { brought, more } = await bringForward(tx, webhookId, [...(turn?.attempted ?? [])], databaseTime(clock));
      if (brought > 0) await wakeRetries(tx, webhookId);
      return more;
    });

  async function recover(webhookId: string, turn: Turn | undefined): Promise<void> {
    while (await batch(webhookId, turn));
  }

  return (webhookId: string, turn: Turn | undefined): Promise<void> => {
    const known = underWay.get(webhookId);
    if (known !== undefined) return known;
    const work = recover(webhookId, turn).finally(() => underWay.delete(webhookId));
    underWay.set(webhookId, work);
    return work;
  };
}
