import type { ServiceImpl } from "@connectrpc/connect";
import type { DiscoveryRequest } from "../../../../gen/atrium/scim/v1/discovery_pb.ts";
import type { ScimService } from "../../../../gen/atrium/scim/v1/scim_pb.ts";
import { scimErrors } from "../errors.ts";
import { listMessage } from "../lists/print.ts";
import type { Scim } from "../scim.ts";
import { resourceTypes, schemas, serviceProviderConfig } from "./describe.ts";

function all<T>(items: T[]) {
  return { ...listMessage({ totalResults: items.length, startIndex: 1, rows: [] }, items), startIndex: 1 };
}

function one<T extends { id: string }>(items: readonly T[], id: string): T {
  const found = items.find((item) => item.id.toLowerCase() === id.toLowerCase());
  if (found === undefined) throw scimErrors.notFound();
  return found;
}

/**
 * The organization of a request without filter.
 * @throws {forbidden} when it has one (RFC 7644 §4)
 */
function orgOf({ orgUuid, filter }: DiscoveryRequest): string {
  if (filter) throw scimErrors.filteredDiscovery();
  return orgUuid;
}

/** The description of the service in `atrium.scim.v1.ScimService`. */
export function discoveryRpc({ baseUrlOf, cursorMs }: Pick<Scim, "baseUrlOf" | "cursorMs">) {
  return {
    getServiceProviderConfig: (request) => serviceProviderConfig(baseUrlOf(orgOf(request)), cursorMs),
    listResourceTypes: (request) => all(resourceTypes(baseUrlOf(orgOf(request)))),
    getResourceType: ({ orgUuid, id }) => one(resourceTypes(baseUrlOf(orgUuid)), id),
    listSchemas: (request) => all(schemas(baseUrlOf(orgOf(request)))),
    getSchema: ({ orgUuid, id }) => one(schemas(baseUrlOf(orgUuid)), id),
  } satisfies Partial<ServiceImpl<typeof ScimService>>;
}
