import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { pageOf } from "../../platform/db/paging.ts";
import type { Invitations } from "./invitations.ts";
import type { InvitationRow } from "./store.ts";

/** The rpcs of `UsersService` about invitations. */
export function invitationsRpc(
  invitations: Invitations,
  contexts: RequestContexts,
): Pick<ServiceImpl<typeof UsersService>, "createInvitation" | "listInvitations" | "deleteInvitation"> {
  return {
    createInvitation: async (request, context) =>
      printInvitation(await invitations.create(contexts.authenticated(context), request)),
    listInvitations: async (request, context) => {
      const page = pageOf(request);
      const { data, ...total } = await invitations.list(contexts.authenticated(context), page);
      return { data: data.map(printInvitation), ...total, ...page };
    },
    deleteInvitation: async ({ invitationId }, context) => {
      await invitations.withdraw(contexts.authenticated(context), invitationId);
      return {};
    },
  };
}

function printInvitation({ uuid, email, role_id, role, status, invited_by, created_at, expires_at }: InvitationRow) {
  return {
    invitationId: uuid,
    email,
    roleId: role_id,
    role,
    status,
    ...(invited_by === null ? {} : { invitedBy: invited_by }),
    createdAt: timestampFromDate(created_at),
    expiresAt: timestampFromDate(expires_at),
  };
}
