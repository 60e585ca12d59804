import type { ServiceImpl } from "@connectrpc/connect";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { AccessService } from "../../../gen/atrium/access/v1/access_pb.ts";
import type { UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import { caller } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import type { Access } from "./index.ts";
import type { Decision } from "./rules.ts";

/** Introspection and entitlement checks; `/me` is a mapping of the verified caller and asks nobody. */
export function accessRpc(access: Access): Partial<ServiceImpl<typeof AccessService>> {
  return {
    getMe: (_request, context) => printCaller(caller(context)),
    checkEntitlement: async ({ feature, orgUuid }, context) => {
      const { granted, reason } = await access.check(caller(context), feature, orgUuid);
      return { granted, reason };
    },
    checkEntitlements: async ({ checks }, context) => ({
      data: await Promise.all(
        checks.map(async ({ feature, orgUuid }) => ({
          feature,
          orgUuid,
          ...explain(await access.check(caller(context), feature, orgUuid)),
        })),
      ),
    }),
  };
}

/** Organizations of the caller: what of the users area access answers. */
export function organizationsRpc(access: Access): Partial<ServiceImpl<typeof UsersService>> {
  return {
    listOrganizations: async ({ limit = 50, offset = 0 }, context) => {
      const all = await access.organizations(caller(context));
      const page = all.slice(offset, offset + limit);
      return { data: page.map(({ created_at, org_uuid, role_id, is_owner, name, role }) => ({
        orgUuid: org_uuid, name, role, roleId: role_id, isOwner: is_owner, status: "active", createdAt: timestampFromDate(created_at),
      })), total: all.length, limit, offset };
    },
    getOrganization: async (_request, context) => {
      const { created_at, uuid, jit_domains, name, plan, sandbox, entitlements } = await access.organization(caller(context));
      return { orgUuid: uuid, name, plan, entitlements, jitDomains: jit_domains, sandbox, createdAt: timestampFromDate(created_at) };
    },
  };
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

function explain({ granted, reason, claim }: Decision) {
  const explanation = claim === undefined ? { decidedBy: "none" } : { decidedBy: "claim", claim };
  return { granted, reason, explain: { ...explanation, stepUpRequired: false } };
}
