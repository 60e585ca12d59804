import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { ScimService } from "../../../../gen/atrium/scim/v1/scim_pb.ts";
import type { RequestContexts } from "../../../platform/context.ts";
import type { ListRequest } from "../lists/list.ts";
import { listMessage } from "../lists/print.ts";
import { readGroupPatch } from "../patch/group-patch.ts";
import { ifMatchOf } from "../resource/etag.ts";
import { selectionOf, selects } from "../resource/select.ts";
import type { SelectionRequest } from "../resource/select.ts";
import { GROUP } from "../schema/index.ts";
import type { Scim } from "../scim.ts";
import { groupEtag, printGroup } from "./present.ts";
import type { ShownGroup } from "./present.ts";

type Asked = { orgUuid: string } & SelectionRequest;

/** The groups of `atrium.scim.v1.ScimService`. */
export function groupsRpc({ groups, groupLists, baseUrlOf }: Scim, contexts: RequestContexts) {
  /** A group as the response; its version is the ETag. */
  function shown(call: HandlerContext, request: Asked, row: ShownGroup) {
    call.responseHeader.set("etag", groupEtag(row));
    return printGroup(row, baseUrlOf(request.orgUuid), selectionOf(GROUP, request));
  }

  const asksMembers = (request: SelectionRequest): boolean => selects(selectionOf(GROUP, request), "members");

  async function list(request: Asked & ListRequest, call: HandlerContext) {
    const [baseUrl, selection] = [baseUrlOf(request.orgUuid), selectionOf(GROUP, request)];
    const withMembers = selects(selection, "members");
    const fitting = withMembers ? groups.fitting : undefined;
    const listing = await groupLists.list(contexts.authenticated(call), request, fitting);
    const membersOf = withMembers ? await groups.membersOf(listing.rows) : () => undefined;
    return listMessage(
      listing,
      listing.rows.map((row) => printGroup({ ...row, members: membersOf(row) }, baseUrl, selection)),
    );
  }

  return {
    listGroups: list,
    searchGroups: list,
    createGroup: async (request, call) => {
      const row = await groups.create(contexts.authenticated(call), request.resource ?? {});
      call.responseHeader.set("location", `${baseUrlOf(request.orgUuid)}/Groups/${row.groupUuid}`);
      return shown(call, request, row);
    },
    getGroup: async (request, call) => {
      const row = await groups.find(contexts.authenticated(call), request.id, asksMembers(request));
      return shown(call, request, row);
    },
    replaceGroup: async (request, call) => {
      const { id, resource = {} } = request;
      const [context, ifMatch] = [contexts.authenticated(call), ifMatchOf(call)];
      return shown(call, request, await groups.replace(context, id, resource, ifMatch, asksMembers(request)));
    },
    patchGroup: async (request, call) => {
      const patch = readGroupPatch(request.operations ?? {});
      const [context, ifMatch] = [contexts.authenticated(call), ifMatchOf(call)];
      return shown(call, request, await groups.change(context, request.id, ifMatch, patch, asksMembers(request)));
    },
    deleteGroup: async ({ id }, call) => {
      await groups.remove(contexts.authenticated(call), id, ifMatchOf(call));
      return {};
    },
  } satisfies Partial<ServiceImpl<typeof ScimService>>;
}
