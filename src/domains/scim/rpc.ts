import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { ScimService } from "../../../gen/atrium/scim/v1/scim_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { selectionOf } from "./resource/select.ts";
import type { SelectionRequest } from "./resource/select.ts";
import { USER } from "./schema/index.ts";
import type { Scim } from "./scim.ts";
import { printUser, userEtag } from "./users/present.ts";
import type { UserRow } from "./users/store.ts";

const ifMatch = ({ requestHeader }: HandlerContext): string | null => requestHeader.get("if-match");

/** Implements `atrium.scim.v1.ScimService`. */
export function scimRpc(
  { users, baseUrlOf }: Scim,
  contexts: RequestContexts,
): Partial<ServiceImpl<typeof ScimService>> {
  /** A user as the response; its version is the ETag. */
  function shown(call: HandlerContext, request: { orgUuid: string } & SelectionRequest, row: UserRow) {
    call.responseHeader.set("etag", userEtag(row));
    return printUser(row, baseUrlOf(request.orgUuid), selectionOf(USER, request));
  }

  return {
    createUser: async (request, call) => {
      const row = await users.create(contexts.authenticated(call), request.resource ?? {});
      call.responseHeader.set("location", `${baseUrlOf(request.orgUuid)}/Users/${row.userUuid}`);
      return shown(call, request, row);
    },
    getUser: async (request, call) => shown(call, request, await users.find(contexts.authenticated(call), request.id)),
    replaceUser: async (request, call) => {
      const { id, resource = {} } = request;
      return shown(call, request, await users.replace(contexts.authenticated(call), id, resource, ifMatch(call)));
    },
    deleteUser: async ({ id }, call) => {
      await users.remove(contexts.authenticated(call), id, ifMatch(call));
      return {};
    },
  };
}
