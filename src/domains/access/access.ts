import { callerOrg } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { organizationErrors } from "../organizations/index.ts";
import type { OrganizationRow, Organizations } from "../organizations/index.ts";
import { activeAppSlugs, appClaims } from "./app-store.ts";
import { createAppAccess } from "./apps.ts";
import { createEntitlements } from "./entitlements.ts";
import { accessErrors } from "./errors.ts";
import { covers } from "./powers.ts";
import { roleOf } from "./role-store.ts";
import type { RoleRow } from "./role-store.ts";
import * as store from "./store.ts";
import type { MembershipRow, NamedRow, Standing } from "./store.ts";

/** Dependencies of access. */
export interface AccessDeps {
  database: Database;
  organizations: Pick<Organizations, "find" | "featuresOf">;
}

/** The claims of an access token that say what its holder may do. */
export interface Grants {
  roles: string[];
  entitlements: string[];
  app_admin: string[];
  platform_admin: boolean;
  sandbox: boolean;
}

const noApps = { installed: [], granted: [], published: [] };

/** Roles, permissions and entitlements. */
export function createAccess({ database, organizations }: AccessDeps) {
  async function entitled(org: OrganizationRow): Promise<OrganizationRow & { entitlements: string[] }> {
    const features = await organizations.featuresOf(org.plan);
    const installed = await database.transaction((tx) => activeAppSlugs(tx, org.uuid));
    return { ...org, entitlements: [...features, ...installed.map((slug) => `app:${slug}`)] };
  }

  return {
    /** An organization with what its plan and its installs entitle to. */
    entitled,

    /** What somebody is now, row locked against a change of password. Undefined where they are no active member. */
    standing: store.readStanding,
    /** The same, of the person and organization that a query names. */
    standingOf: store.readStandingOf,

    /** What a token made now grants: role, features of the plan, installed and administered apps. */
    async grants(tx: Tx, standing: Standing): Promise<Grants> {
      const { org } = standing;
      // Of this organization only: whoever leaves it, or is signed in to another, administers none of its apps.
      const { installed, granted, published } =
        org === null ? noApps : await appClaims(tx, org.uuid, standing.userUuid);
      return {
        roles: org === null ? [] : [org.role],
        entitlements: [...(org?.features ?? []), ...installed.map((slug) => `app:${slug}`)],
        app_admin: [...new Set([...granted, ...(org?.isOwner === true ? published : [])])],
        platform_admin: standing.isPlatformAdmin,
        sandbox: org?.sandbox ?? false,
      };
    },

    ...createEntitlements(database),
    apps: createAppAccess(database),

    /** A role an organization has, by id or name. Throws 404 `role_not_found`. */
    async role(tx: Tx, orgUuid: string, wanted: number | string): Promise<RoleRow> {
      const role = await roleOf(tx, orgUuid, wanted);
      if (role === undefined) throw accessErrors.roleNotFound();
      return role;
    },
    /** Refuses with 403 `forbidden` to grant what is beyond the caller's own power. */
    demandGrantable(caller: Caller, permissions: readonly string[]): void {
      if (!covers(caller, permissions)) throw accessErrors.abovePower();
    },
    /** Roles of the caller's organization. */
    roles: (caller: Caller): Promise<NamedRow[]> => store.listRoles(database, callerOrg(caller)),
    /** The catalogue of permissions. */
    permissions: (): Promise<NamedRow[]> => store.listPermissions(database),
    /** Permissions of a role of the caller's organization. Throws 404 `role_not_found`. */
    async rolePermissions(caller: Caller, roleId: number): Promise<NamedRow[]> {
      const found = await store.permissionsOf(database, callerOrg(caller), roleId);
      if (found === undefined) throw accessErrors.roleNotFound();
      return found;
    },
    /** The caller's organization with what its plan and its installs entitle to. */
    async organization(caller: Caller): Promise<OrganizationRow & { entitlements: string[] }> {
      const found = await organizations.find(callerOrg(caller));
      if (found === undefined) throw organizationErrors.notFound();
      return entitled(found);
    },
    /** The organizations the caller is a member of, active or not; for a credential that is no person's, its own. */
    organizations(caller: Caller): Promise<MembershipRow[]> {
      if (caller.userUuid === null)
        return store.organizationOfCredential(database, callerOrg(caller), caller.roles[0] ?? "");
      return store.organizationsOf(database, caller.userUuid);
    },
  };
}

/** Access as other domains see it. */
export type Access = ReturnType<typeof createAccess>;
