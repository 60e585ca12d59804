import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { MarketplaceDeps } from "./deps.ts";
import type { Installs } from "./installs.ts";
import * as store from "./store.ts";

/**
 * What becomes of an organization's apps and installs when it is deleted, in the transaction of that: its apps are
 * archived (installs elsewhere live on, as of any archived app), and its own installs are given back.
 */
export function createOrganizationEnd({ clock, audit }: Pick<MarketplaceDeps, "clock" | "audit">, installs: Pick<Installs, "removeIn">) {
  return async function organizationEnds(tx: Tx, orgUuid: string, caller: Caller, info: RequestInfo): Promise<void> {
    for (const appId of await store.publishedBy(tx, orgUuid)) {
      const app = await store.lockApp(tx, appId);
      if (app === null || app.status === "archived") continue;
      app.archive(dateOf(clock));
      const metadata = { app_id: appId, slug: app.slug, status: app.status };
      await audit(tx, { type: "app.archived", orgUuid, caller, info, resourceType: "app", resourceId: appId, metadata });
    }
    for (const installId of await store.liveInstallsOf(tx, orgUuid)) await installs.removeIn(tx, caller, info, installId, "the organization was deleted");
  };
}
