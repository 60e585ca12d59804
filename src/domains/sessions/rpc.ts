import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { SessionsService } from "../../../gen/atrium/sessions/v1/sessions_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import type { Total } from "../../platform/db/total.ts";
import { pageOf } from "../../platform/db/paging.ts";
import type { Page } from "../../platform/db/paging.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import type { InventoryRow } from "./inventory-store.ts";
import type { DeviceAccount } from "./rules.ts";
import type { Sessions } from "./sessions.ts";

/** `atrium.sessions.v1.SessionsService`. */
export function sessionsRpc(
  { inventories: { organization, device }, accounts, switchOrganization }: Sessions,
  contexts: RequestContexts,
): ServiceRegistration {
  const revokeAll: ServiceImpl<typeof SessionsService>["revokeAllOrganizationSessions"] = async (
    { orgUuid, excludeCurrent },
    context,
  ) => ({ revoked: await organization.revokeAll(contexts.authenticated(context), orgUuid, excludeCurrent) });
  return registration(SessionsService, {
    listOrganizationSessions: async ({ orgUuid, ...request }) => {
      const page = pageOf(request);
      return printInventory(await organization.list(orgUuid, request, page), page);
    },
    revokeOrganizationSession: async ({ orgUuid, sessionId }, context) => {
      await organization.revoke(contexts.authenticated(context), orgUuid, sessionId);
      return {};
    },
    revokeOrganizationSessions: revokeAll,
    revokeAllOrganizationSessions: revokeAll,
    listDeviceSessions: async ({ deviceUuid, ...request }, context) => {
      const page = pageOf(request);
      return printInventory(await device.list(contexts.authenticated(context), deviceUuid, request, page), page);
    },
    revokeDeviceSession: async ({ deviceUuid, sessionId }, context) => {
      await device.revoke(contexts.authenticated(context), deviceUuid, sessionId);
      return {};
    },
    revokeDeviceSessions: async ({ deviceUuid, excludeCurrent }, context) => ({
      revoked: await device.revokeAll(contexts.authenticated(context), deviceUuid, excludeCurrent),
    }),
    listDeviceAccounts: async ({ deviceUuid }, context) => ({
      data: (await accounts.list(contexts.authenticated(context), deviceUuid)).map(printAccount),
    }),
    addDeviceAccount: async ({ deviceUuid, accessToken }, context) =>
      printAccount(await accounts.add(contexts.authenticated(context), deviceUuid, accessToken)),
    removeDeviceAccount: async ({ deviceUuid, id }, context) => {
      await accounts.remove(contexts.authenticated(context), deviceUuid, id);
      return {};
    },
    switchOrganization: async ({ orgUuid }, context) => switchOrganization(contexts.authenticated(context), orgUuid),
    switchDeviceAccount: async ({ deviceUuid, accountId }, context) => {
      const { account, ...opened } = await accounts.switchTo(contexts.authenticated(context), deviceUuid, accountId);
      return { ...opened, ...printAccount(account) };
    },
  } satisfies ServiceImpl<typeof SessionsService>);
}

function printInventory({ data, ...total }: { data: InventoryRow[]; nextCursor?: string } & Total, page: Page) {
  return {
    data: data.map((row) => ({
      sessionId: row.uuid,
      userUuid: row.userUuid,
      deviceUuid: row.deviceUuid,
      createdAt: timestampFromDate(row.createdAt),
      lastSeenAt: timestampFromDate(row.lastSeenAt),
      ipAddress: row.ipAddress,
      userAgent: row.userAgent,
    })),
    ...total,
    ...page,
  };
}

function printAccount({ id, userUuid, email, orgUuid, active, addedAt, lastUsedAt }: DeviceAccount) {
  return {
    id,
    userUuid,
    email,
    ...(orgUuid === null ? {} : { orgUuid }),
    isActive: active,
    addedAt: timestampFromDate(addedAt),
    lastUsedAt: timestampFromDate(lastUsedAt),
  };
}
