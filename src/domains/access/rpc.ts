import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { GetMeResponseSchema } from "../../../gen/atrium/access/v1/access_pb.ts";
import type { AccessService, GetMeResponse } from "../../../gen/atrium/access/v1/access_pb.ts";
import type { UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import { RbacService } from "../../../gen/atrium/rbac/v1/rbac_pb.ts";
import { caller } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import { pageOf } from "../../platform/db/paging.ts";
import type { Page } from "../../platform/db/paging.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import type { Administration } from "./administration.ts";
import { roleChangesRpc } from "./administration-rpc.ts";
import type { Access } from "./access.ts";
import type { MembershipRow } from "./store.ts";
import { printOrganization } from "./print.ts";

/** Introspection and entitlement checks; `/me` is a mapping of the verified caller and asks nobody. */
export function accessRpc(access: Access): ServiceImpl<typeof AccessService> {
  return {
    getMe: (_request, context) => describeCaller(caller(context)),
    checkEntitlement: async ({ feature, orgUuid }, context) => {
      const { granted, reason } = await access.check(caller(context), feature, orgUuid);
      return { granted, reason };
    },
    checkEntitlements: async ({ checks }, context) => ({ data: await access.explain(caller(context), checks) }),
    getAppAccess: async ({ appId }, context) => access.apps.access(caller(context), appId),
  };
}

/** Organizations of the caller: what of the users area access answers. */
export function organizationsRpc(access: Access): Partial<ServiceImpl<typeof UsersService>> {
  return {
    listOrganizations: async (request, context) =>
      window((await access.organizations(caller(context))).map(printMembership), pageOf(request)),
    getOrganization: async (_request, context) => printOrganization(await access.organization(caller(context))),
  };
}

/** Roles and permissions, the native routes and those of version 2 over the same use cases. */
export function rolesRpc(access: Access, administration: Administration): ServiceRegistration {
  return registration(RbacService, {
    ...roleChangesRpc(administration),
    listRoles: async (request, context) => window(await access.roles(caller(context)), pageOf(request)),
    listPermissions: async () => ({ data: await access.permissions() }),
    listRolePermissions: async ({ roleId }, context) => ({
      data: await access.rolePermissions(caller(context), roleId),
    }),
    listProductPermissions: async () => ({ data: await access.permissions() }),
    listProductRoles: async (request, context) => window(await access.roles(caller(context)), pageOf(request)),
  });
}

/** One page of a list that is short as a whole. */
function window<T>(all: readonly T[], page: Page) {
  return { data: all.slice(page.offset, page.offset + page.limit), total: all.length, ...page };
}

function printMembership({ created_at, org_uuid, role_id, is_owner, name, role, status }: MembershipRow) {
  return {
    orgUuid: org_uuid,
    name,
    role,
    roleId: role_id,
    isOwner: is_owner,
    status,
    createdAt: timestampFromDate(created_at),
  };
}

// A caller object stays the same from request to request while nothing about the caller changes.
const described = new WeakMap<Caller, GetMeResponse>();

function describeCaller(who: Caller): GetMeResponse {
  let message = described.get(who);
  if (message === undefined)
    described.set(who, (message = Object.freeze(create(GetMeResponseSchema, printCaller(who)))));
  return message;
}

function printCaller(who: Caller) {
  return {
    ...(who.userUuid === null ? { principal: who.principal } : { userUuid: who.userUuid }),
    ...(who.email === null ? {} : { email: who.email }),
    ...(who.orgUuid === null ? {} : { orgUuid: who.orgUuid }),
    ...(who.orgName === null ? {} : { orgName: who.orgName }),
    roles: [...who.roles],
    entitlements: [...who.entitlements],
    appAdmin: [...who.appAdmin],
    platformAdmin: who.isPlatformAdmin,
    sandbox: who.sandbox,
  };
}
