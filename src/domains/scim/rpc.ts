import type { ServiceImpl } from "@connectrpc/connect";
import type { ScimService } from "../../../gen/atrium/scim/v1/scim_pb.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { discoveryRpc } from "./discovery/rpc.ts";
import { groupsRpc } from "./groups/rpc.ts";
import type { Scim } from "./scim.ts";
import { usersRpc } from "./users/rpc.ts";

const BULK_RESPONSE = "urn:ietf:params:scim:api:messages:2.0:BulkResponse";

/** Implements `atrium.scim.v1.ScimService`. */
export function scimRpc(scim: Scim, contexts: RequestContexts): ServiceImpl<typeof ScimService> {
  return {
    ...usersRpc(scim, contexts),
    ...groupsRpc(scim, contexts),
    ...discoveryRpc(scim),
    bulk: async ({ orgUuid, request = {} }, call) => {
      const outcomes = await scim.bulk(contexts.authenticated(call), scim.baseUrlOf(orgUuid), request);
      return { schemas: [BULK_RESPONSE], Operations: outcomes };
    },
  };
}
