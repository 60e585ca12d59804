import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GroupSchema } from "../../../../gen/atrium/scim/v1/resources_pb.ts";
import { select } from "../resource/select.ts";
import type { Selection } from "../resource/select.ts";
import type { Resource } from "../resource/values.ts";
import { GROUP } from "../schema/index.ts";
import { metaMessage, referenceMessage } from "../users/present.ts";
import type { GroupRow } from "./store.ts";

/** A group with the ids of its members; undefined where they were not asked for. */
export interface ShownGroup extends GroupRow {
  members: readonly string[] | undefined;
}

/** Weak ETag of a group. */
export const groupEtag = ({ version }: Pick<GroupRow, "version">): string => `W/"${version}"`;

/** A group under the names of the schemas, with what the service adds; times of `meta` are milliseconds. */
function groupResource(row: ShownGroup, baseUrl: string): Resource {
  const { groupUuid, data, members = [], createdAt, updatedAt } = row;
  return {
    schemas: [GROUP.core.urn],
    id: groupUuid,
    ...data,
    ...(members.length > 0 && {
      members: members.map((value) => ({ value, $ref: `${baseUrl}/Users/${value}`, type: "User" })),
    }),
    meta: {
      resourceType: "Group",
      created: createdAt.getTime(),
      lastModified: updatedAt.getTime(),
      location: `${baseUrl}/Groups/${groupUuid}`,
      version: groupEtag(row),
    },
  };
}

/** A group as the contract's message, with the attributes of a selection. */
export function printGroup(row: ShownGroup, baseUrl: string, chosen: Selection): MessageInitShape<typeof GroupSchema> {
  const { meta, members, ...shown } = select(GROUP, groupResource(row, baseUrl), chosen);
  return {
    ...shown,
    ...(Array.isArray(members) && { members: members.map(referenceMessage) }),
    ...(meta !== undefined && { meta: metaMessage(meta) }),
  };
}
