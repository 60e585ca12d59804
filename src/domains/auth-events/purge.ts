import type { Caller, RequestInfo } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database, OnBehalf } from "../../platform/db/types.ts";
import * as store from "./chain-store.ts";
import { bySystem, causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Cause, Events } from "../event-catalogue/index.ts";
import type { Linker } from "./linker.ts";
import { SHORTEST_RETENTION_MS } from "./rules.ts";

/** Events of one transaction, and chains of one look. */
const BATCH = 5_000;
const CHAINS = 200;
const DAY_MS = 86_400_000;

/** What purging needs. */
export interface PurgeDeps {
  database: Database;
  clock: Clock;
  events: Pick<Events, "emit">;
}

/** Removal of events whose retention is over; their links stay. */
export function createPurge({ database, clock, events }: PurgeDeps, linker: Linker) {
  let next = { at: 0, after: "" };

  async function purge(orgUuid: string | null, by: Cause, onBehalf?: OnBehalf): Promise<number> {
    if (!(await linker.linkAll(orgUuid))) return 0;
    let total = 0;
    for (let removed = BATCH; removed > 0; total += removed) {
      removed = await database.transaction((tx) => store.purgeOld(tx, orgUuid, BATCH), onBehalf);
    }
    const event = { by, orgUuid, resourceId: orgUuid ?? undefined, metadata: { purged: total } };
    if (total > 0) await database.transaction((tx) => events.emit(tx, EVENTS["audit.purged"], event), onBehalf);
    return total;
  }

  return {
    /** Removes what is older than the retention of the caller's organization; answers how many events that were. */
    purge: (caller: Caller, info: RequestInfo, orgUuid: string): Promise<number> =>
      purge(orgUuid, causedBy({ caller, info }), caller),

    /**
     * Once a day: purges some organizations that have old events; answers how many it looked at, 0 when the day's work
     * is done.
     */
    async purgeDaily(): Promise<number> {
      if (clock.now() < next.at) return 0;
      const chains = await store.oldChains(
        database.background,
        next.after === "" ? null : next.after,
        dateOf(clock, -SHORTEST_RETENTION_MS),
        CHAINS,
      );
      for (const key of chains) await purge(store.chainOwner(key), bySystem);
      const last = chains.at(-1);
      next = last === undefined ? { at: clock.now() + DAY_MS, after: "" } : { at: 0, after: last };
      return chains.length;
    },
  };
}
