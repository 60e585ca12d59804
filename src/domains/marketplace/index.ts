import { dateOf } from "../../platform/clock.ts";
import { createInstallActivities } from "./activities.ts";
import { createAdministration } from "./administration.ts";
import { createApps } from "./apps.ts";
import { createBrowse } from "./browse.ts";
import type { MarketplaceDeps } from "./deps.ts";
import { createInstalls } from "./installs.ts";
import { createOrganizationEnd } from "./organization-end.ts";
import { createProvisioning } from "./provisioning.ts";
import { createStanding } from "./standing.ts";
import { createWatch } from "./watch.ts";
import { deleteGrantsOf } from "./admin-store.ts";
import { activeAppSlugs, appClaims, appsOfToken, factsOf, pendingInstalls, slugsOf } from "./store.ts";
import type { AppsOfToken } from "./store.ts";

export type { MarketplaceAudit, MarketplaceDeps } from "./deps.ts";
export { marketplaceEntities } from "./entities.ts";
export { INSTALL_CHANGED, INSTALLS_LEFT } from "./events.ts";
export type { InstallChanged, LeftInstalls } from "./events.ts";
export { appAccessRpc, buyerRpc, publisherRpc } from "./rpc.ts";
export { stuckInstalls } from "./store.ts";
export type { StuckInstall } from "./store.ts";
export type { InstallActivities } from "./activities.ts";

/** The marketplace: apps, the catalogue, installs and what drives them. */
export function createMarketplace(deps: MarketplaceDeps) {
  const standing = createStanding(deps);
  const installs = createInstalls(deps, standing);
  const behind = { ...deps, database: deps.database.background };
  return {
    apps: createApps(deps, standing),
    administration: createAdministration(deps, installs, standing),
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
    /** Slugs of an organization's active installs, for entitlements. */
    activeAppSlugs,
    /**
     * What tokens say of apps: those installed, those administered by a grant, those published, which owners administer
     * without.
     */
    appClaims,
    /** Apps that the holder of a token administers now. */
    appsOfToken: (token: AppsOfToken) => appsOfToken(deps.database, token),
    /** Apps by slug, with a person's grant and an organization's active install of each, for entitlement checks. */
    factsOf: (slugs: readonly string[], userUuid: string | null, orgUuid: string | null) =>
      factsOf(deps.database, slugs, userUuid, orgUuid),
    /** Slugs of apps. */
    slugsOf: (appIds: readonly string[]) => slugsOf(deps.database, appIds),
  };
}

/** The marketplace's use cases. */
export type Marketplace = ReturnType<typeof createMarketplace>;
