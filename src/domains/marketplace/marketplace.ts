import { dateOf } from "../../platform/clock.ts";
import { createAdministration } from "./apps/administration.ts";
import { createAdmins } from "./apps/admins.ts";
import { createCatalogue } from "./apps/catalogue.ts";
import { createListings } from "./apps/listings.ts";
import { createPublishing } from "./apps/publishing.ts";
import type { MarketplaceDeps } from "./deps.ts";
import { createInstallActivities } from "./installs/activities.ts";
import { createCloudTargets } from "./installs/cloud-targets.ts";
import { createDeprovisioning } from "./installs/deprovisioning.ts";
import { createInstalls } from "./installs/installs.ts";
import { createOlderInstancesTidy } from "./installs/older-instances.ts";
import { pendingInstalls } from "./installs/pending-store.ts";
import { createInstallPrice, lockEnded, notePayment } from "./installs/price.ts";
import { createReports } from "./installs/reports.ts";
import { createStats } from "./installs/stats.ts";
import { createSuspension } from "./installs/suspension.ts";
import { createInstallTidy } from "./installs/tidy.ts";
import { createWatch } from "./installs/watch.ts";
import { createOrganizationEnd } from "./organization-end.ts";

/** How long an install waits for its publisher before its workflow is looked for, milliseconds. */
const PENDING_MS = 60_000;

/** The marketplace: apps, the public catalogue, and installs with what drives them. */
export function createMarketplace(deps: MarketplaceDeps) {
  const background = { ...deps, database: deps.database.background };
  const deprovisioning = createDeprovisioning(deps);
  return {
    apps: {
      ...createPublishing(deps),
      ...createAdministration(deps),
      ...createListings(deps),
      ...createAdmins(deps),
    },
    catalogue: createCatalogue(deps),
    installs: {
      ...createInstalls(deps, deprovisioning),
      ...createSuspension(deps),
      ...createReports(deps),
      ...createStats(deps),
      ...createWatch(deps),
      price: createInstallPrice(deps.database),
      paid: notePayment,
      lockEnded,
    },
    cloudTargets: createCloudTargets(deps, deprovisioning),
    ...createOrganizationEnd(deps, deprovisioning),
    activities: createInstallActivities(background),
    tidy: {
      endedInstalls: createInstallTidy(background),
      installsOfOlderInstances: createOlderInstancesTidy(background),
    },
    /** Ids of installs that have waited for their publisher for a minute or longer, in order: each has a workflow. */
    waiting: (after: string | null, limit: number) =>
      pendingInstalls(background.database, dateOf(deps.clock, -PENDING_MS), after, limit),
  };
}

/** The marketplace as domains above it and its services use it. */
export type Marketplace = ReturnType<typeof createMarketplace>;
