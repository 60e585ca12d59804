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
import { activeAppSlugs, appClaims, factsOf, pendingInstalls, slugsOf, voidedApps } from "./store.ts";

export type { MarketplaceAudit, MarketplaceDeps } from "./deps.ts";
export { marketplaceEntities } from "./entities.ts";
export { INSTALL_CHANGED } from "./events.ts";
export type { InstallChanged } from "./events.ts";
export { appAccessRpc, buyerRpc, publisherRpc } from "./rpc.ts";
export { stuckInstalls } from "./store.ts";
export type { StuckInstall } from "./store.ts";
export type { InstallActivities } from "./activities.ts";

/** The marketplace: apps, the catalogue, installs and what drives them. */
export function createMarketplace(deps: MarketplaceDeps) {
  const installs = createInstalls(deps);
  return {
    apps: createApps(deps),
    administration: createAdministration(deps, installs),
    browse: createBrowse(deps),
    installs,
    ...createWatch(deps.database, installs),
    provisioning: createProvisioning(deps),
    activities: createInstallActivities(deps),
    /** Installs, by id, that have waited for their publisher for a minute or longer: each has a workflow. */
    waiting: (after: string | null, limit: number) => pendingInstalls(deps.database, dateOf(deps.clock, -60_000), after, limit),
    /** What becomes of an organization's apps and installs when it is deleted. */
    organizationEnds: createOrganizationEnd(deps, installs),
    /** Ends the grants of a member who is removed: coming back later does not bring them back. */
    memberLeaves: deleteGrantsOf,
    /** Slugs of an organization's active installs, for entitlements. */
    activeAppSlugs,
    /** What tokens say of apps: those installed, those administered by a grant, those published, which owners administer without. */
    appClaims,
    /** Apps whose admin claims issued at a time are void by a later key rotation. */
    voidedApps: (appIds: readonly string[], issuedAtMs: number) => voidedApps(deps.database, appIds, issuedAtMs),
    /** Apps by slug, with a person's grant and an organization's active install of each, for entitlement checks. */
    factsOf: (slugs: readonly string[], userUuid: string | null, orgUuid: string | null) => factsOf(deps.database, slugs, userUuid, orgUuid),
    /** Slugs of apps. */
    slugsOf: (appIds: readonly string[]) => slugsOf(deps.database, appIds),
  };
}

/** The marketplace's use cases. */
export type Marketplace = ReturnType<typeof createMarketplace>;
