import { dateOf } from "../../platform/clock.ts";
import { bySystem, EVENTS } from "../event-catalogue/index.ts";
import type { ManageDeps } from "./manage.ts";
import * as store from "./manage-store.ts";

/**
 * Idempotent effects of the workflow that waits for the end of a replaced key's overlap. When a key stops being valid
 * is stored in its row; the workflow only records it.
 */
export function createKeyActivities({ database, clock, events }: Pick<ManageDeps, "database" | "clock" | "events">) {
  return {
    /** Milliseconds until a replaced key's overlap ends; null when the key was deleted or retired. */
    async keyOverlapLeft(kid: string): Promise<number | null> {
      const end = await store.overlapEnd(database, kid);
      return end === undefined ? null : Math.max(0, end.getTime() - clock.now());
    },

    /**
     * Records once in the audit log that a key's overlap has ended. Webhooks receive nothing: they received the
     * rotation when it happened (decisions 6.1).
     */
    async retireSigningKey(kid: string): Promise<void> {
      await database.transaction(async (tx) => {
        const retired = await store.retireKey(tx, kid, dateOf(clock));
        if (retired === undefined) return;
        const { orgUuid, algorithm } = retired;
        await events.emit(tx, EVENTS["signing_key.deleted"], {
          by: bySystem,
          orgUuid,
          resourceId: kid,
          metadata: { key_id: kid, algorithm, reason: "overlap_ended" },
        });
      });
    },
  };
}

/** The activities as the workflow calls them. */
export type KeyActivities = ReturnType<typeof createKeyActivities>;
