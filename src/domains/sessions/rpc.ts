import type { ServiceImpl } from "@connectrpc/connect";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { caller, requestInfo } from "../../platform/caller.ts";
import { pageOf } from "../../platform/db/paging.ts";
import type { Sessions } from "./index.ts";

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
      const { data, total } = await own.list(caller(context), page);
      return {
        data: data.map((row) => ({
          sessionId: row.uuid,
          deviceUuid: row.device_uuid,
          createdAt: timestampFromDate(row.created_at),
          lastSeenAt: timestampFromDate(row.last_seen_at),
          current: row.current,
        })),
        total,
        ...page,
      };
    },
  };
}
