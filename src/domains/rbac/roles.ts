import { callerOrg } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { hasControlCharacters, isBlank } from "../../platform/names.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import { rbacErrors } from "./errors.ts";
import { demandGrantable } from "./permissions.ts";
import * as store from "./role-store.ts";
import type { NamedRow, RoleRow } from "./role-store.ts";

/** Maximum number of an organization's own roles. */
const MAX_ROLES = 1_000;

/** Dependencies of roles. */
export interface RolesDeps {
  database: Database;
  clock: Clock;
  events: Pick<Events, "emit">;
}

/** Roles and their permissions (decisions 2.4): the same use cases for the native routes and those of version 2. */
export function createRoles({ database, clock, events }: RolesDeps) {
  /**
   * The permissions of these ids.
   * @throws {permission_not_found} when one is not in the catalogue
   * @throws {forbidden} when they go beyond the caller's own power
   */
  async function grantable(tx: Tx, caller: Caller, ids: readonly number[]): Promise<NamedRow[]> {
    const wanted = [...new Set(ids)];
    const found = await store.permissionsAmong(tx, wanted);
    if (found.length < wanted.length) throw rbacErrors.permissionNotFound();
    const names = found.map(({ name }) => name);
    demandGrantable(caller, names);
    return found;
  }

  /** Makes these the permissions of a role; returns their names. */
  async function setPermissions(tx: Tx, roleId: number, permissions: readonly NamedRow[]): Promise<string[]> {
    const ids = permissions.map(({ id }) => id);
    await store.setPermissions(tx, roleId, ids);
    return permissions.map(({ name }) => name);
  }

  return {
    /** A page of the roles of the caller's organization. */
    list: ({ caller }: CallerContext, page: Page): Promise<Listed<NamedRow>> =>
      store.pageOfRoles(database, callerOrg(caller), page),
    /** The catalogue of permissions. */
    permissions: (): Promise<NamedRow[]> => store.listPermissions(database),
    /**
     * Permissions of a role of the caller's organization.
     * @throws {role_not_found} when the organization has no such role
     */
    async permissionsOf({ caller }: CallerContext, roleId: number): Promise<NamedRow[]> {
      const found = await store.permissionsOf(database, callerOrg(caller), roleId);
      if (found === undefined) throw rbacErrors.roleNotFound();
      return found;
    },

    /**
     * A role an organization has, by id or name.
     * @throws {role_not_found} when it has no such role
     */
    async find(tx: Tx, orgUuid: string, idOrName: number | string): Promise<RoleRow> {
      const role = await store.roleOf(tx, orgUuid, idOrName);
      if (role === undefined) throw rbacErrors.roleNotFound();
      return role;
    },

    /** A role an organization has, by id; undefined for any other. */
    ofOrganization: (tx: Tx, orgUuid: string, roleId: number): Promise<RoleRow | undefined> =>
      store.roleOf(tx, orgUuid, roleId),

    /**
     * Adds a role.
     * @throws {validation_error} for its name
     * @throws {permission_not_found} when a permission is not in the catalogue
     * @throws {forbidden} when the permissions go beyond the caller's own power
     * @throws {role_name_taken} when the organization has a role of the name
     * @throws {conflict} when the organization has 1,000 roles of its own
     */
    async create(context: CallerContext, request: { name: string; permissions: readonly number[] }): Promise<NamedRow> {
      const orgUuid = callerOrg(context.caller);
      const name = readRoleName(request.name);
      return context.transaction(async (tx) => {
        const granted = await grantable(tx, context.caller, request.permissions);
        if ((await store.countOwnRoles(tx, orgUuid)) >= MAX_ROLES) throw rbacErrors.tooManyRoles();
        const role = await store.insertRole(tx, orgUuid, name, dateOf(clock));
        if (role === undefined) throw rbacErrors.roleNameTaken();
        const permissions = await setPermissions(tx, role.id, granted);
        await events.emit(tx, EVENTS["role.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: String(role.id),
          metadata: { name, permissions },
        });
        return role;
      });
    },

    /**
     * Replaces the permissions of a role; returns them.
     * @throws {role_not_found} when the organization has no such role
     * @throws {role_immutable} when the role is built in
     * @throws {permission_not_found} when a permission is not in the catalogue
     * @throws {forbidden} when the permissions go beyond the caller's own power
     */
    async replacePermissions(context: CallerContext, roleId: number, ids: readonly number[]): Promise<NamedRow[]> {
      const orgUuid = callerOrg(context.caller);
      return context.transaction(async (tx) => {
        const role = await store.lockRole(tx, orgUuid, roleId);
        if (role === undefined) throw rbacErrors.roleNotFound();
        if (role.builtIn) throw rbacErrors.roleImmutable();
        const permissions = await grantable(tx, context.caller, ids);
        const after = await setPermissions(tx, role.id, permissions);
        const same = after.length === role.permissions.length && after.every((name) => role.permissions.includes(name));
        await events.emit(tx, EVENTS["role.updated"], {
          by: causedBy(context),
          orgUuid,
          resourceId: String(role.id),
          metadata: { name: role.name, before: role.permissions, after },
          data: same ? undefined : { role_id: role.id, name: role.name, permissions: after },
        });
        return permissions;
      });
    },
  };
}

/**
 * A role's name as it is stored.
 * @throws {validation_error} for `name`
 */
function readRoleName(text: string): string {
  const name = store.storedName(text);
  if (isBlank(name)) throw errors.validation({ fields: [{ field: "name", code: "required", message: "is required" }] });
  if (hasControlCharacters(name))
    throw errors.validation({
      fields: [{ field: "name", code: "pattern", message: "must not have control characters" }],
    });
  return name;
}
