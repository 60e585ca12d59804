import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import { ofService } from "../../platform/db/types.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { MarketplaceDeps } from "./deps.ts";
import { INSTALLS_LEFT } from "./events.ts";
import type { Ender, LeftInstalls } from "./events.ts";
import type { Installs } from "./installs.ts";
import * as store from "./store.ts";

/** Most installs that are given back by one transaction. */
const BATCH = 100;

/**
 * What becomes of an organization's apps and installs when it is deleted: its apps are archived (installs elsewhere
 * live on, as of any archived app), and its own installs are given back. A batch of these in the transaction that ends
 * it, the others behind it: nobody of the organization can use them by then, and neither reports nor administrators of
 * the app move them any more.
 */
export function createOrganizationEnd(
  { database, clock, audit }: Pick<MarketplaceDeps, "database" | "clock" | "audit">,
  installs: Pick<Installs, "removeIn">,
) {
  async function giveBack(tx: Tx, orgUuid: string, by: Ender): Promise<void> {
    const some = await store.liveInstallsOf(tx, orgUuid, BATCH);
    for (const installId of some) await installs.removeIn(tx, by, installId, "the organization was deleted");
    if (some.length === BATCH) await tx.emit({ topic: INSTALLS_LEFT, payload: { org_uuid: orgUuid, ...by } });
  }

  return {
    /** Archives the apps and gives back a batch of installs, in the transaction that ends the organization. */
    async organizationEnds(tx: Tx, orgUuid: string, caller: Caller, info: RequestInfo): Promise<void> {
      for (const appId of await store.unarchivedOf(tx, orgUuid)) {
        const app = await store.lockApp(tx, appId);
        if (app === null || app.status === "archived") continue;
        app.archive(dateOf(clock));
        const metadata = { app_id: appId, slug: app.slug, status: app.status };
        await audit(tx, {
          type: "app.archived",
          orgUuid,
          caller,
          info,
          resourceType: "app",
          resourceId: appId,
          metadata,
        });
      }
      const { principal, userUuid, email } = caller;
      await giveBack(tx, orgUuid, {
        caller: { principal, userUuid, email },
        info: { address: info.address, userAgent: info.userAgent },
      });
    },

    /** Gives back the next batch of an organization that ended. Safe to do again. */
    async giveBackLeft({ org_uuid: orgUuid, caller, info }: LeftInstalls): Promise<void> {
      await database.background.transaction((tx) => giveBack(tx, orgUuid, { caller, info }), ofService);
    },
  };
}
