import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import type { UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import { caller, callerKey, requestInfo } from "../../platform/caller.ts";
import { pageOf } from "../../platform/db/paging.ts";
import type { Accepted } from "./accept-invite.ts";
import type { Login } from "./index.ts";
import type { InvitationRow } from "./invitation-store.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";

/** The door for the invited. */
export function inviteLoginRpc({ invitations, invite }: Login): Partial<ServiceImpl<typeof LoginService>> {
  return {
    getInvite: async ({ token }) => {
      const { email, org_uuid, org_name, role, expires_at } = await invitations.show(token);
      return { email, orgUuid: org_uuid, orgName: org_name, role, expiresAt: timestampFromDate(expires_at) };
    },
    acceptInvite: async (request, context) => {
      const answer = await invite.accept(request, context.values.get(callerKey), requestInfo(context));
      return { data: printAcceptance(answer, context) };
    },
  };
}

/** Invitations: what of the users area belongs to the doors. */
export function invitationsRpc({ invitations }: Login): Partial<ServiceImpl<typeof UsersService>> {
  return {
    createInvitation: async (request, context) =>
      printInvitation(await invitations.create(caller(context), request, requestInfo(context))),
    listInvitations: async (request, context) => {
      const page = pageOf(request);
      const { data, ...total } = await invitations.list(caller(context), page);
      return { data: data.map(printInvitation), ...total, ...page };
    },
    deleteInvitation: async ({ invitationId }, context) => {
      await invitations.withdraw(caller(context), invitationId, requestInfo(context));
      return {};
    },
  };
}

/** The binary form tells of memberships alone: the call for the second factor is JSON, whatever `Accept` says. */
function printAcceptance(answer: Accepted | SecondFactorNeeded, { protocolName, responseHeader }: HandlerContext) {
  if (!("mfaRequired" in answer)) return { ...answer, message: "Invitation accepted." };
  if (protocolName === "rest") responseHeader.set("content-type", "application/json");
  return answer;
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
