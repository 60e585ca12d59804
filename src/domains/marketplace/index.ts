import { dateOf } from "../../platform/clock.ts";
import { createInstallActivities } from "./activities.ts";
import { createAdministration } from "./administration.ts";
import { createApps } from "./apps.ts";
import { createBrowse } from "./browse.ts";
import type { MarketplaceDeps } from "./deps.ts";
import { createInstalls } from "./installs.ts";
import { createOrganizationEnd } from "./organization-end.ts";
import { createProvisioning } from "./provisioning.ts";
import { createWatch } from "./watch.ts";
import { deleteGrantsOf } from "./admin-store.ts";
import { pendingInstalls } from "./store.ts";

export type { MarketplaceAudit, MarketplaceDeps } from "./deps.ts";
export { marketplaceEntities } from "./entities.ts";
export { INSTALL_CHANGED, INSTALLS_LEFT } from "./events.ts";
export type { InstallChanged, LeftInstalls } from "./events.ts";
export { buyerRpc, publisherRpc } from "./rpc.ts";
export { stuckInstalls } from "./store.ts";
export type { StuckInstall } from "./store.ts";
export type { InstallActivities } from "./activities.ts";

/** The marketplace: apps, the catalogue, installs and what drives them. */
export function createMarketplace(deps: MarketplaceDeps) {
  const installs = createInstalls(deps);
  const behind = { ...deps, database: deps.database.background };
  return {
    apps: createApps(deps),
    administration: createAdministration(deps, installs),
    browse: createBrowse(deps),
    installs,
    ...createWatch(deps.database),
    provisioning: createProvisioning(deps),
    activities: createInstallActivities(behind),
    /** Installs, by id, that have waited for their publisher for a minute or longer: each has a workflow. */
    waiting: (after: string | null, limit: number) =>
      pendingInstalls(behind.database, dateOf(deps.clock, -60_000), after, limit),
    ...createOrganizationEnd(behind, installs),
    /** Ends the grants of a member who is removed: coming back later does not bring them back. */
    memberLeaves: deleteGrantsOf,
  };
}

/** The marketplace's use cases. */
export type Marketplace = ReturnType<typeof createMarketplace>;
