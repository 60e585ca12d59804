import { callerOrg } from "../../platform/caller.ts";
import type { Caller, RequestInfo } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { actorOf } from "../audit-record/index.ts";
import type { AdministrationDeps } from "./administration.ts";
import { accessErrors } from "./errors.ts";
import * as store from "./role-store.ts";
import type { NamedRow } from "./store.ts";

const odd = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** Roles of an organization's own (decisions 2.4): one use case behind the native routes and those of version 2. */
export function createRoles({ database, clock, audit, announce, access }: AdministrationDeps) {
  /** The permissions of these ids. Throws 400 `permission_not_found`, 403 `forbidden` above the caller's power. */
  async function grantable(tx: Tx, caller: Caller, ids: readonly number[]): Promise<NamedRow[]> {
    const wanted = [...new Set(ids)];
    const found = await store.permissionsAmong(tx, wanted);
    if (found.length < wanted.length) throw accessErrors.permissionNotFound();
    access.demandGrantable(
      caller,
      found.map(({ name }) => name),
    );
    return found;
  }

  return {
    /** Adds a role. Throws 400 `permission_not_found`, `validation_error`, 403 `forbidden`, 409 `role_name_taken`. */
    async create(
      caller: Caller,
      request: { name: string; permissions: readonly number[] },
      info: RequestInfo,
    ): Promise<NamedRow> {
      const org = callerOrg(caller);
      const name = readRoleName(request.name);
      return database.transaction(async (tx) => {
        const permissions = await grantable(tx, caller, request.permissions);
        const role = await store.insertRole(tx, org, name, dateOf(clock));
        if (role === undefined) throw accessErrors.roleNameTaken();
        await store.setPermissions(
          tx,
          role.id,
          permissions.map(({ id }) => id),
        );
        const metadata = { name, permissions: permissions.map((permission) => permission.name) };
        const resource = { type: "role", id: String(role.id) };
        await audit.record(tx, {
          type: "role.created",
          outcome: "success",
          userUuid: caller.userUuid,
          orgUuid: org,
          info,
          actor: actorOf(caller),
          resource,
          metadata,
        });
        return role;
      }, caller);
    },

    /**
     * Replaces the permissions of a role; answers them. Throws 404 `role_not_found`, 409 `role_immutable` for a
     * built-in one, 400 `permission_not_found`, 403 `forbidden`.
     */
    async replacePermissions(
      caller: Caller,
      roleId: number,
      ids: readonly number[],
      info: RequestInfo,
    ): Promise<NamedRow[]> {
      const org = callerOrg(caller);
      return database.transaction(async (tx) => {
        const role = await store.lockRole(tx, org, roleId);
        if (role === undefined) throw accessErrors.roleNotFound();
        if (role.built_in) throw accessErrors.roleImmutable();
        const permissions = await grantable(tx, caller, ids);
        await store.setPermissions(
          tx,
          role.id,
          permissions.map(({ id }) => id),
        );
        const after = permissions.map(({ name }) => name);
        const metadata = { name: role.name, before: role.permissions, after };
        const resource = { type: "role", id: String(role.id) };
        await audit.record(tx, {
          type: "role.updated",
          outcome: "success",
          userUuid: caller.userUuid,
          orgUuid: org,
          info,
          actor: actorOf(caller),
          resource,
          metadata,
        });
        const same = after.length === role.permissions.length && after.every((name) => role.permissions.includes(name));
        if (!same)
          await announce(tx, {
            type: "role.updated",
            orgUuid: org,
            data: { role_id: role.id, name: role.name, permissions: after },
          });
        return permissions;
      }, caller);
    },
  };
}

/** A role's name as it is kept. Throws `validation_error`. */
function readRoleName(text: string): string {
  const name = text.normalize("NFKC").trim();
  if (name === "") throw errors.validation({ fields: [{ field: "name", code: "required", message: "is required" }] });
  if (odd.test(name))
    throw errors.validation({
      fields: [{ field: "name", code: "pattern", message: "must not have control characters" }],
    });
  return name;
}
