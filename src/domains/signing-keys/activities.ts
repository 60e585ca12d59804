import { dateOf } from "../../platform/clock.ts";
import { systemActor } from "../audit-record/index.ts";
import * as store from "./manage-store.ts";
import type { ManageDeps } from "./manage.ts";

/**
 * Idempotent effects of the workflow that watches a key's overlap. Validity itself is stored; this tidies and tells.
 */
export function createKeyActivities({ database, clock, audit }: Pick<ManageDeps, "database" | "clock" | "audit">) {
  return {
    /** Milliseconds until a replaced key's overlap is over; null when the key is gone or was retired. */
    async keyOverlapLeft(kid: string): Promise<number | null> {
      const end = await store.overlapEnd(database, kid);
      return end === undefined ? null : Math.max(0, end.getTime() - clock.now());
    },

    /**
     * Records once in the audit log that a key's overlap is over. Webhooks were told of the rotation at its switch
     * (decisions 6.1).
     */
    async retireSigningKey(kid: string): Promise<void> {
      await database.transaction(async (tx) => {
        const retired = await store.retireKey(tx, kid, dateOf(clock));
        if (retired === undefined) return;
        const metadata = { key_id: kid, algorithm: retired.algorithm, reason: "overlap_ended" };
        await audit.record(tx, {
          type: "signing_key.deleted",
          outcome: "success",
          userUuid: null,
          orgUuid: retired.org_uuid,
          info: { address: "", userAgent: "atrium" },
          metadata,
          actor: systemActor,
          resource: { type: "signing_key", id: kid },
        });
      });
    },
  };
}

/** The activities as the workflow sees them. */
export type KeyActivities = ReturnType<typeof createKeyActivities>;
