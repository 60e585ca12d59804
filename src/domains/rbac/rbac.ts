import { createMembers } from "./members.ts";
import type { MembersDeps } from "./members.ts";
import { createPermissionCheck } from "./permission-check.ts";
import { createRoles } from "./roles.ts";
import type { RolesDeps } from "./roles.ts";

/** Dependencies of roles and members. */
export type RbacDeps = RolesDeps & MembersDeps;

/** Roles, permissions, and the roles of members. */
export function createRbac(deps: RbacDeps) {
  return {
    roles: createRoles(deps),
    members: createMembers(deps),
    demandPermission: createPermissionCheck(deps.database),
  };
}

/** Roles and members as other domains use them. */
export type Rbac = ReturnType<typeof createRbac>;
