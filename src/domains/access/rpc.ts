import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { GetMeResponseSchema } from "../../../gen/atrium/access/v1/access_pb.ts";
import type { AccessService, GetMeResponse } from "../../../gen/atrium/access/v1/access_pb.ts";
import { caller } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import type { RequestContexts } from "../../platform/context.ts";
import type { Access } from "./access.ts";
import { lacksEntitlements } from "./rules.ts";

/** Implements `atrium.access.v1.AccessService`. `/me` shows the verified caller, and reads only what no token holds. */
export function accessRpc(access: Access, contexts: RequestContexts): ServiceImpl<typeof AccessService> {
  return {
    getMe: (_request, call) => describe(access, caller(call)),
    checkEntitlement: async ({ feature, orgUuid }, call) => {
      const { granted, reason } = await access.check(contexts.authenticated(call), feature, orgUuid);
      return { granted, reason };
    },
    checkEntitlements: async ({ checks }, call) => ({
      data: await access.explain(contexts.authenticated(call), checks),
    }),
    getAppAccess: async ({ appId }, call) => access.apps.access(contexts.authenticated(call), appId),
  };
}

function describe(access: Access, who: Caller): GetMeResponse | Promise<GetMeResponse> {
  return lacksEntitlements(who) ? access.entitledCaller(who).then(describeCaller) : describeCaller(who);
}

// A frozen caller stays the same from request to request while nothing about it changes. What is said of a caller that
// no other request gets is not worth keeping: with tokens used once, that costs more than all else but the signature.
const described = new WeakMap<Caller, GetMeResponse>();

function describeCaller(who: Caller): GetMeResponse {
  if (!Object.isFrozen(who)) return create(GetMeResponseSchema, printCaller(who));
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
    scopes: scopesOf(who),
  };
}

/** Scopes in force (decisions 2.5). Flags are read with the session on every request: no claim carries them. */
function scopesOf(who: Caller): string[] {
  const held: Readonly<Record<string, boolean>> = {
    admin: who.isAdmin,
    "vault:write": who.canWriteVault,
    platform_admin: who.isPlatformAdmin,
    superuser: who.isSuperuser,
    operator: who.isOperator,
  };
  return [...(who.scopes ?? Object.keys(held))].filter((scope) => held[scope] ?? true);
}
