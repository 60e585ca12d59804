import { callerOrg } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import type { Database } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";

/** Creates the check of the permissions `billing:read` and `billing:write`. */
export function createRights(database: Pick<Database, "prepared">) {
  /**
   * Checks that one of the caller's roles has a permission; admins have every one. For keys the scopes are checked
   * before, and their roles are those of their creator.
   * @throws {forbidden} otherwise
   */
  return async function demand(caller: Caller, permission: "billing:read" | "billing:write"): Promise<void> {
    if (caller.isOwner || caller.isAdmin || caller.roles.includes("admin")) return;
    const rows = await database.prepared(
      "billing-permission",
      `select 1 as one from roles r
       join role_permissions rp on rp.role_id = r.id join permissions n on n.id = rp.permission_id
       where (r.org_uuid = $1 or r.org_uuid is null) and r.name = any ($2) and n.name = $3 limit 1`,
      [callerOrg(caller), caller.roles, permission],
    );
    if (rows.length === 0) throw errors.forbidden({ message: `This needs a role with the permission ${permission}.` });
  };
}

/** The check of permissions. */
export type Demand = ReturnType<typeof createRights>;
