import type { Clock } from "../../platform/clock.ts";
import { databaseMs } from "../../platform/db/time.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { OrganizationRow, Organizations } from "../organizations/index.ts";
import { activeAppSlugs, appClaims, entitlementsIn } from "./app-store.ts";
import { createAppAccess } from "./apps.ts";
import { createEntitlements } from "./entitlements.ts";
import * as store from "./store.ts";
import type { Standing } from "./store.ts";

/** Dependencies of access. */
export interface AccessDeps {
  database: Database;
  clock: Clock;
  organizations: Pick<Organizations, "featuresOf">;
}

/** The claims of an access token that say what its holder may do. */
export interface Grants {
  roles: string[];
  entitlements: string[];
  app_admin: string[];
  platform_admin: boolean;
  sandbox: boolean;
  /** When they were read, milliseconds; the database's time, as that of an app's creation and of its key's rotation. */
  ims: number;
}

const NO_APPS = { installed: [], granted: [], published: [] };

/** What tokens say their holders may do, entitlements, and access to apps. */
export function createAccess({ database, clock, organizations }: AccessDeps) {
  return {
    ...createEntitlements(database),
    apps: createAppAccess(database),

    /** An organization with the features of its plan and its active apps. */
    async entitled(org: OrganizationRow): Promise<OrganizationRow & { entitlements: string[] }> {
      const features = await organizations.featuresOf(org.plan);
      const installed = await activeAppSlugs(database, org.uuid);
      return { ...org, entitlements: [...features, ...installed.map((slug) => `app:${slug}`)] };
    },

    /** The same, as a transaction leaves it. */
    entitledIn: async (tx: Tx, org: OrganizationRow): Promise<OrganizationRow & { entitlements: string[] }> => ({
      ...org,
      entitlements: await entitlementsIn(tx, org.uuid),
    }),

    /** What a person is now, row locked against a change of password; undefined where they are no active member. */
    standing: store.readStanding,
    /** The same, of the person and organization that a query names. */
    standingOf: store.readStandingOf,

    /** The claims of a new token: role, features of the plan, installed and administered apps. */
    async grants(tx: Tx, standing: Standing): Promise<Grants> {
      const { org } = standing;
      // Apps of this organization alone: who leaves it, or signs in to another, administers none of its apps.
      const { installed, granted, published, at } =
        org === null
          ? { ...NO_APPS, at: clock.now() }
          : await appClaims(tx, org.uuid, standing.userUuid, databaseMs(clock));
      return {
        roles: org === null ? [] : [org.role],
        entitlements: [...(org?.features ?? []), ...installed.map((slug) => `app:${slug}`)],
        app_admin: [...new Set([...granted, ...(org?.isOwner === true ? published : [])])],
        platform_admin: standing.isPlatformAdmin,
        sandbox: org?.sandbox ?? false,
        ims: at,
      };
    },
  };
}

/** Access as other domains use it. */
export type Access = ReturnType<typeof createAccess>;
