import type { ServiceImpl } from "@connectrpc/connect";
import type { ScimService } from "../../../gen/atrium/scim/v1/scim_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { discoveryRpc } from "./discovery/rpc.ts";
import { groupsRpc } from "./groups/rpc.ts";
import type { Scim } from "./scim.ts";
import { usersRpc } from "./users/rpc.ts";

/** Implements `atrium.scim.v1.ScimService`. */
export function scimRpc(scim: Scim, contexts: RequestContexts): Partial<ServiceImpl<typeof ScimService>> {
  return { ...usersRpc(scim, contexts), ...groupsRpc(scim, contexts), ...discoveryRpc(scim) };
}
