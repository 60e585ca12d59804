import type { ServiceImpl } from "@connectrpc/connect";
import type { RbacService } from "../../../gen/atrium/rbac/v1/rbac_pb.ts";
import type { CallerContext, RequestContexts } from "../../platform/context.ts";
import { pageOf } from "../../platform/db/paging.ts";
import type { Rbac } from "./rbac.ts";

/** Implements `atrium.rbac.v1.RbacService`. */
export function rbacRpc({ roles, members }: Rbac, contexts: RequestContexts): ServiceImpl<typeof RbacService> {
  async function listRoles(request: Parameters<typeof pageOf>[0], context: CallerContext) {
    const page = pageOf(request);
    const { rows, ...total } = await roles.list(context, page);
    return { data: rows, ...total, ...page };
  }

  return {
    listRoles: (request, call) => listRoles(request, contexts.authenticated(call)),
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
    listProductRoles: (request, call) => listRoles(request, contexts.authenticated(call)),
    assignRole: async ({ userUuid, roleId }, call) => {
      await members.assignRole(contexts.authenticated(call), userUuid, roleId);
      return { message: "The role is assigned." };
    },
  };
}
