import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { ScimService } from "../../../../gen/atrium/scim/v1/scim_pb.ts";
import type { RequestContexts } from "../../../platform/context.ts";
import type { ListRequest } from "../lists/list.ts";
import { listMessage } from "../lists/print.ts";
import { readPatch } from "../patch/engine.ts";
import { ifMatchOf } from "../resource/etag.ts";
import { selectionOf, selects } from "../resource/select.ts";
import type { SelectionRequest } from "../resource/select.ts";
import { USER } from "../schema/index.ts";
import type { Scim } from "../scim.ts";
import { printUser, userEtag } from "./present.ts";
import type { UserRow } from "./store.ts";

type Asked = { orgUuid: string } & SelectionRequest;

/** The users of `atrium.scim.v1.ScimService`. */
export function usersRpc({ users, userLists, userListsWithoutGroups, baseUrlOf }: Scim, contexts: RequestContexts) {
  /** A user as the response; its version is the ETag. */
  function shown(call: HandlerContext, request: Asked, row: UserRow) {
    call.responseHeader.set("etag", userEtag(row));
    return printUser(row, baseUrlOf(request.orgUuid), selectionOf(USER, request));
  }

  async function list(request: Asked & ListRequest, call: HandlerContext) {
    const [baseUrl, selection] = [baseUrlOf(request.orgUuid), selectionOf(USER, request)];
    const withGroups = ["groups", "meta"].some((name) => selects(selection, name));
    const { list: read } = withGroups ? userLists : userListsWithoutGroups;
    const listing = await read(contexts.authenticated(call), request);
    return listMessage(
      listing,
      listing.rows.map((row) => printUser(row, baseUrl, selection)),
    );
  }

  return {
    listUsers: list,
    searchUsers: list,
    createUser: async (request, call) => {
      const row = await users.create(contexts.authenticated(call), request.resource ?? {});
      call.responseHeader.set("location", `${baseUrlOf(request.orgUuid)}/Users/${row.userUuid}`);
      return shown(call, request, row);
    },
    getUser: async (request, call) => shown(call, request, await users.find(contexts.authenticated(call), request.id)),
    replaceUser: async (request, call) => {
      const { id, resource = {} } = request;
      return shown(call, request, await users.replace(contexts.authenticated(call), id, resource, ifMatchOf(call)));
    },
    patchUser: async (request, call) => {
      const next = readPatch(USER, request.operations ?? {});
      return shown(call, request, await users.change(contexts.authenticated(call), request.id, ifMatchOf(call), next));
    },
    deleteUser: async ({ id }, call) => {
      await users.remove(contexts.authenticated(call), id, ifMatchOf(call));
      return {};
    },
  } satisfies Partial<ServiceImpl<typeof ScimService>>;
}
