import type { Clock } from "../../../platform/clock.ts";
import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import { isAway } from "../../../platform/db/failure.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";
import type { Log } from "../../../platform/log.ts";
import * as store from "./store.ts";
import { bySystem, causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { Cause, Events } from "../../event-catalogue/index.ts";
import type { Linker } from "./linker.ts";
import { auditErrors } from "../errors.ts";
import { SHORTEST_RETENTION_MS } from "../rules.ts";

/** Events removed by one transaction, and chains read by one statement. */
const BATCH = 5_000;
const CHAINS = 200;
const DAY_MS = 86_400_000;

/** Dependencies of purging. */
export interface PurgeDeps {
  database: Database;
  clock: Clock;
  log: Pick<Log, "error">;
  events: Pick<Events, "emit">;
}

/** Removes events whose retention period has ended; their links remain. */
export function createPurge({ database, clock, log, events }: PurgeDeps, linker: Linker) {
  let next = { at: 0, after: "" };

  /** Removes one batch, and records it in the same transaction: what was removed before a failure is on record. */
  async function purgeBatch(tx: Tx, orgUuid: string | null, by: Cause): Promise<number> {
    const purged = await store.purgeOld(tx, orgUuid, BATCH);
    const event = { by, orgUuid, resourceId: orgUuid ?? undefined, metadata: { purged } };
    if (purged > 0) await events.emit(tx, EVENTS["audit.purged"], event);
    return purged;
  }

  /**
   * Removes batches until none is left, or until they have `enough` events.
   * @throws {conflict} when the end of the chain was not signed by this service
   */
  async function purge(
    orgUuid: string | null,
    by: Cause,
    run: Pick<Database, "transaction">,
    enough = Infinity,
  ): Promise<number> {
    if (!(await linker.linkAll(orgUuid))) throw auditErrors.brokenChain();
    let total = 0;
    for (let removed = BATCH; removed > 0 && total < enough; total += removed)
      removed = await run.transaction((tx) => purgeBatch(tx, orgUuid, by));
    return total;
  }

  return {
    /**
     * Removes events older than an organization's retention period; returns how many.
     * @throws {conflict} when the chain of the log does not verify
     */
    purge: (context: CallerContext, orgUuid: string): Promise<number> => purge(orgUuid, causedBy(context), context),

    /**
     * Once a day: purges organizations that have old events. Returns early after a full batch, so that a long log holds
     * up no other tidy task; the next call goes on with it. Returns 0 when it is done for the day, else how many events
     * or chains it has handled.
     */
    async purgeDaily(): Promise<number> {
      if (clock.now() < next.at) return 0;
      const chains = await store.oldChains(
        database.background,
        next.after === "" ? null : next.after,
        dateOf(clock, -SHORTEST_RETENTION_MS),
        CHAINS,
      );
      for (const key of chains) {
        const purged = await purge(store.chainOwner(key), bySystem, database, BATCH).catch((error: unknown) => {
          if (isAway(error)) throw error;
          log.error({ err: error, org_uuid: key }, "The old events of an audit chain are not purged");
          return 0;
        });
        if (purged >= BATCH) return purged;
        next = { at: 0, after: key };
      }
      if (chains.length === 0) next = { at: clock.now() + DAY_MS, after: "" };
      return chains.length;
    },
  };
}
