import { dateOf } from "../../platform/clock.ts";
import { SKIP_REAUTHORIZATION } from "../../platform/db/types.ts";
import type { Tx } from "../../platform/db/types.ts";
import { EVENTS } from "../event-catalogue/index.ts";
import type { Cause } from "../event-catalogue/index.ts";
import { deleteGrantsOf } from "./apps/admin-store.ts";
import { lockApp, lockUnarchivedApps } from "./apps/store.ts";
import type { MarketplaceDeps } from "./deps.ts";
import type { Deprovisioning } from "./installs/deprovisioning.ts";
import { INSTALLS_LEFT } from "./installs/events.ts";
import type { LeftInstalls } from "./installs/events.ts";
import { liveInstallsOf } from "./installs/store.ts";

/** Installs that one transaction deprovisions. */
const BATCH = 100;

/** What the end of an organization or a membership does to apps and installs. */
export function createOrganizationEnd(
  { database, clock, events }: Pick<MarketplaceDeps, "database" | "clock" | "events">,
  deprovisioning: Deprovisioning,
) {
  async function deprovisionBatch(tx: Tx, left: LeftInstalls): Promise<void> {
    const installIds = await liveInstallsOf(tx, left.org_uuid, BATCH);
    for (const installId of installIds)
      await deprovisioning.beginIfLive(tx, left.by, installId, "the organization was deleted");
    if (installIds.length === BATCH) await tx.emit({ topic: INSTALLS_LEFT, payload: { ...left } });
  }

  return {
    /** Locks what `organizationEnds` changes. */
    async lockForEnd(tx: Tx, orgUuid: string): Promise<void> {
      await lockUnarchivedApps(tx, orgUuid);
      await liveInstallsOf(tx, orgUuid, BATCH, "for update");
    },

    /**
     * Archives an organization's apps (their installs elsewhere live on, as with any archived app) and begins
     * deprovisioning its own installs, in the transaction that deletes the organization. The installs of the first
     * batch are deprovisioned in that transaction and the others afterwards: by then no member can use them, and
     * neither publishers' reports nor administrators of the app can change them.
     */
    async organizationEnds(tx: Tx, orgUuid: string, by: Cause): Promise<void> {
      for (const appId of await lockUnarchivedApps(tx, orgUuid)) {
        const app = await lockApp(tx, appId);
        if (app === null || app.status === "archived") continue;
        app.archive(dateOf(clock));
        const data = { app_id: appId, slug: app.slug, status: app.status };
        await events.emit(tx, EVENTS["app.archived"], {
          by,
          orgUuid,
          resourceId: appId,
          metadata: data,
          data,
          appId,
        });
      }
      const { address, userAgent } = by.info;
      await deprovisionBatch(tx, { org_uuid: orgUuid, by: { ...by, info: { address, userAgent } } });
    },

    /** Deprovisions the next batch of a deleted organization's installs; idempotent. */
    async deprovisionLeft(left: LeftInstalls): Promise<void> {
      await database.background.transaction((tx) => deprovisionBatch(tx, left), SKIP_REAUTHORIZATION);
    },

    /** Deletes the grants of a member who is removed, so that a later membership does not restore them. */
    memberLeaves: deleteGrantsOf,
  };
}
