import type { ServiceImpl } from "@connectrpc/connect";
import type { RbacService } from "../../../gen/atrium/rbac/v1/rbac_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { pageOf, pageOfAll } from "../../platform/db/paging.ts";
import type { Orders } from "../../platform/db/paging.ts";
import type { ListedRole } from "./role-store.ts";
import type { Rbac } from "./rbac.ts";

const ORDERS: Orders<ListedRole> = {
  name: ({ name }) => name.toLowerCase(),
  created_at: ({ createdAt: at }) => at.getTime(),
};

/** A page of the roles of an organization, which has few. */
function pageOfRoles(all: readonly ListedRole[], request: Parameters<typeof pageOf>[0]) {
  return pageOfAll(all, pageOf(request), ({ name }) => name, ORDERS);
}

/** Implements `atrium.rbac.v1.RbacService`. */
export function rbacRpc({ roles, members }: Rbac, contexts: RequestContexts): ServiceImpl<typeof RbacService> {
  return {
    listRoles: async (request, call) => pageOfRoles(await roles.list(contexts.authenticated(call)), request),
    listPermissions: async () => ({ data: await roles.permissions() }),
    listRolePermissions: async ({ roleId }, call) => ({
      data: await roles.permissionsOf(contexts.authenticated(call), roleId),
    }),
    replaceRolePermissions: async ({ roleId, permissions }, call) => ({
      data: await roles.replacePermissions(contexts.authenticated(call), roleId, permissions),
    }),
    listProductPermissions: async () => ({ data: await roles.permissions() }),
    createProductRole: async ({ name, permissions }, call) => ({
      data: await roles.create(contexts.authenticated(call), { name, permissions: permissions.map(({ id }) => id) }),
    }),
    listProductRoles: async (request, call) => pageOfRoles(await roles.list(contexts.authenticated(call)), request),
    assignRole: async ({ userUuid, roleId }, call) => {
      await members.assignRole(contexts.authenticated(call), userUuid, roleId);
      return { message: "The role is assigned." };
    },
  };
}
