import type { ServiceImpl } from "@connectrpc/connect";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { SessionsService } from "../../../gen/atrium/sessions/v1/sessions_pb.ts";
import { caller, requestInfo } from "../../platform/caller.ts";
import type { Total } from "../../platform/db/counting.ts";
import { pageOf } from "../../platform/db/paging.ts";
import { registration } from "../../platform/rpc.ts";
import type { ServiceRegistration } from "../../platform/rpc.ts";
import type { Sessions } from "./index.ts";
import type { InventoryRow } from "./inventory-store.ts";
import type { DeviceAccount } from "./rules.ts";

/** What of the login area is about sessions. */
export function sessionsLoginRpc({ own, refresh }: Sessions): Partial<ServiceImpl<typeof LoginService>> {
  return {
    refresh: async ({ refreshToken }, context) => refresh(refreshToken, requestInfo(context)),
    logout: async (_request, context) => {
      await own.logout(caller(context), requestInfo(context));
      return {};
    },
    listOwnSessions: async (request, context) => {
      const page = pageOf(request);
      const { data, ...total } = await own.list(caller(context), page);
      return {
        data: data.map((row) => ({
          sessionId: row.uuid,
          deviceUuid: row.device_uuid,
          createdAt: timestampFromDate(row.created_at),
          lastSeenAt: timestampFromDate(row.last_seen_at),
          current: row.current,
        })),
        ...total,
        ...page,
      };
    },
  };
}

/** The sessions area over the wire. */
export function sessionsRpc({ inventories: { organization, device }, accounts }: Sessions): ServiceRegistration {
  const revokeAll: ServiceImpl<typeof SessionsService>["revokeAllOrganizationSessions"] = async (
    { orgUuid, excludeCurrent },
    context,
  ) => ({
    revoked: await organization.revokeAll(caller(context), orgUuid, excludeCurrent, requestInfo(context)),
  });
  return registration(SessionsService, {
    listOrganizationSessions: async ({ orgUuid, ...request }) => {
      const page = pageOf(request);
      return printInventory(await organization.list(orgUuid, request, page), page);
    },
    revokeOrganizationSession: async ({ orgUuid, sessionId }, context) => {
      await organization.revoke(caller(context), orgUuid, sessionId, requestInfo(context));
      return {};
    },
    revokeOrganizationSessions: revokeAll,
    revokeAllOrganizationSessions: revokeAll,
    listDeviceSessions: async ({ deviceUuid, ...request }, context) => {
      const page = pageOf(request);
      return printInventory(await device.list(caller(context), deviceUuid, page), page);
    },
    revokeDeviceSession: async ({ deviceUuid, sessionId }, context) => {
      await device.revoke(caller(context), deviceUuid, sessionId, requestInfo(context));
      return {};
    },
    revokeDeviceSessions: async ({ deviceUuid, excludeCurrent }, context) => ({
      revoked: await device.revokeAll(caller(context), deviceUuid, excludeCurrent, requestInfo(context)),
    }),
    listDeviceAccounts: async ({ deviceUuid }, context) => ({
      data: (await accounts.list(caller(context), deviceUuid)).map(printAccount),
    }),
    addDeviceAccount: async ({ deviceUuid, accessToken }, context) =>
      printAccount(await accounts.add(caller(context), deviceUuid, accessToken, requestInfo(context))),
    removeDeviceAccount: async ({ deviceUuid, id }, context) => {
      await accounts.remove(caller(context), deviceUuid, id, requestInfo(context));
      return {};
    },
    switchDeviceAccount: async ({ deviceUuid, accountId }, context) => {
      const { account, ...opened } = await accounts.switchTo(
        caller(context),
        deviceUuid,
        accountId,
        requestInfo(context),
      );
      return { ...opened, ...printAccount(account) };
    },
  });
}

function printInventory({ data, ...total }: { data: InventoryRow[] } & Total, page: { limit: number; offset: number }) {
  return {
    data: data.map((row) => ({
      sessionId: row.uuid,
      userUuid: row.user_uuid,
      deviceUuid: row.device_uuid,
      createdAt: timestampFromDate(row.created_at),
      lastSeenAt: timestampFromDate(row.last_seen_at),
      ipAddress: row.ip_address,
      userAgent: row.user_agent,
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
