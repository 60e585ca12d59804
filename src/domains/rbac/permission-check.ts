import { callerOrg } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import type { Database } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { rolesGrant } from "./role-store.ts";

/** Creates the check of a permission for domains whose calls need one. */
export function createPermissionCheck(database: Pick<Database, "prepared">) {
  /**
   * Checks that one of the caller's roles has a permission; admins have every one. For keys the scopes are checked
   * before, and their roles are those of their creator.
   * @throws {forbidden} otherwise
   */
  return async function demandPermission(caller: Caller, permission: string): Promise<void> {
    if (caller.isOwner || caller.isAdmin || caller.roles.includes("admin")) return;
    if (await rolesGrant(database, callerOrg(caller), caller.roles, permission)) return;
    throw errors.forbidden({ message: `This needs a role with the permission ${permission}.` });
  };
}

/** The check of a permission. */
export type DemandPermission = ReturnType<typeof createPermissionCheck>;
