import { callerOrg } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { lockRoles, rolesGrant } from "./role-store.ts";

/** Creates the check of a permission for domains whose calls need one. */
export function createPermissionCheck(database: Pick<Database, "prepared">) {
  /**
   * Checks that one of the caller's roles has a permission; admins have every one. For keys the scopes are checked
   * before, and their roles are those of their creator. In a transaction the roles keep their permissions until its
   * end.
   * @throws {forbidden} otherwise
   */
  return async function demandPermission(caller: Caller, permission: string, tx?: Tx): Promise<void> {
    if (caller.isOwner || caller.isAdmin || caller.roles.includes("admin")) return;
    const orgUuid = callerOrg(caller);
    if (tx !== undefined) await lockRoles(tx, orgUuid, caller.roles);
    if (await rolesGrant(tx ?? database, orgUuid, caller.roles, permission)) return;
    throw errors.forbidden({ message: `This needs a role with the permission ${permission}.` });
  };
}

/** The check of a permission. */
export type DemandPermission = ReturnType<typeof createPermissionCheck>;
