import { toJson } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { ListValueSchema, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { RbacService } from "../../../gen/atrium/rbac/v1/rbac_pb.ts";
import type { UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import { caller, requestInfo } from "../../platform/caller.ts";
import { pageOf } from "../../platform/db/paging.ts";
import type { Administration } from "./administration.ts";
import type { MemberRow } from "./member-store.ts";
import { printOrganization } from "./print.ts";

/** Members and organizations: what of the users area administrators do. */
export function membersRpc({ members, organizations }: Administration): Partial<ServiceImpl<typeof UsersService>> {
  return {
    listUsers: async (request, context) => {
      const page = pageOf(request);
      const { data, total } = await members.list(caller(context), request, page);
      return { data: data.map(printMember), total, ...page };
    },
    setUserRole: async ({ userUuid, role }, context) => {
      await members.setRole(caller(context), userUuid, role, requestInfo(context));
      return { status: "ok" };
    },
    updateUser: async ({ userUuid, status, isOwner }, context) =>
      printMember(
        await members.update(
          caller(context),
          userUuid,
          { status: status as MemberRow["status"] | undefined, isOwner },
          requestInfo(context),
        ),
      ),
    deleteUser: async ({ userUuid }, context) => {
      await members.remove(caller(context), userUuid, requestInfo(context));
      return {};
    },
    updateOrganization: async ({ orgUuid, name, plan, jitDomains }, context) =>
      printOrganization(
        await organizations.update(
          caller(context),
          orgUuid,
          { name, plan, jitDomains: jitDomains && toJson(ListValueSchema, jitDomains) },
          requestInfo(context),
        ),
      ),
    deleteOrganization: async (_request, context) => {
      await organizations.remove(caller(context), requestInfo(context));
      return {};
    },
  };
}

/** Changes of roles, native and of version 2. */
export function roleChangesRpc({ members, roles }: Administration): Partial<ServiceImpl<typeof RbacService>> {
  return {
    replaceRolePermissions: async ({ roleId, permissions }, context) => ({
      data: await roles.replacePermissions(caller(context), roleId, permissions, requestInfo(context)),
    }),
    createProductRole: async ({ name, permissions }, context) => ({
      data: await roles.create(
        caller(context),
        { name, permissions: permissions.map(({ id }) => id) },
        requestInfo(context),
      ),
    }),
    assignRole: async ({ userUuid, roleId }, context) => {
      await members.setRole(caller(context), userUuid, roleId, requestInfo(context));
      return { message: "The role is assigned." };
    },
  };
}

function printMember({ user_uuid, id, email, first_name, role, role_id, is_owner, status, created_at }: MemberRow) {
  return {
    userUuid: user_uuid,
    id,
    email,
    firstName: first_name,
    role,
    roleId: role_id,
    isOwner: is_owner,
    status,
    createdAt: timestampFromDate(created_at),
  };
}
