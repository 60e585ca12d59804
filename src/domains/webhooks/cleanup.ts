import type { Database } from "../../platform/db/types.ts";
import { createPoller } from "../../platform/poller.ts";
import type { Poller, PollerDeps } from "../../platform/poller.ts";
import { cleanUpBatch } from "./cleanup-store.ts";
import { POLL_MS } from "./rules.ts";

/** Fails or deletes the deliveries that disabled and deleted webhooks leave, batch by batch. */
export function createCleanup({ database, ...deps }: PollerDeps & { database: Pick<Database, "prepared"> }): Poller {
  return createPoller(deps, {
    name: "webhook-cleanup",
    intervalMs: POLL_MS,
    backOff: { firstMs: 50, maxMs: POLL_MS },
    run: () => cleanUpBatch(database),
  });
}
