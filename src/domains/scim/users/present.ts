import { createHash } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { UserSchema } from "../../../../gen/atrium/scim/v1/resources_pb.ts";
import { schemasOf } from "../resource/fold.ts";
import { select } from "../resource/select.ts";
import type { Selection } from "../resource/select.ts";
import { isObject } from "../resource/values.ts";
import type { Json, Resource } from "../resource/values.ts";
import { ENTERPRISE, USER } from "../schema/index.ts";
import type { UserRow } from "./store.ts";

/**
 * Weak ETag of a user: the groups they are in are part of it, and when they were created, because somebody who is
 * deleted and created again has the same id, and versions from 1.
 */
export function userEtag({ version, groups, createdAt }: Pick<UserRow, "version" | "groups" | "createdAt">): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([createdAt, groups]))
    .digest("base64url");
  return `W/"${version}-${digest.slice(0, 16)}"`;
}

/** A user under the names of the schemas, with what the service adds. `baseUrl`: of the organization's SCIM. */
function userResource(row: UserRow, baseUrl: string): Resource {
  const { userUuid, data, active, groups, createdAt, updatedAt } = row;
  return {
    schemas: schemasOf(USER, data),
    id: userUuid,
    ...data,
    active,
    ...(groups.length > 0 && {
      groups: groups.map(({ value, display }) => ({
        value,
        $ref: `${baseUrl}/Groups/${value}`,
        display,
        type: "direct",
      })),
    }),
    meta: {
      resourceType: "User",
      created: createdAt.toISOString(),
      lastModified: updatedAt.toISOString(),
      location: `${baseUrl}/Users/${userUuid}`,
      version: userEtag(row),
    },
  };
}

/** `meta` as a message: its times are timestamps. */
export function metaMessage(meta: Json | undefined) {
  if (!isObject(meta)) return undefined;
  const { created, lastModified, ...rest } = meta as Record<string, string>;
  return {
    ...rest,
    ...(created !== undefined && { created: timestampFromDate(new Date(created)) }),
    ...(lastModified !== undefined && { lastModified: timestampFromDate(new Date(lastModified)) }),
  };
}

/** `$ref` is called `ref` in messages. */
export function referenceMessage(value: Json): Record<string, Json> {
  if (!isObject(value)) return {};
  const { $ref, ...rest } = value;
  return $ref === undefined ? rest : { ...rest, ref: $ref };
}

/** A user as the contract's message, with the attributes of a selection. */
export function printUser(row: UserRow, baseUrl: string, selection: Selection): MessageInitShape<typeof UserSchema> {
  const { meta, groups, [ENTERPRISE]: extension, ...shown } = select(USER, userResource(row, baseUrl), selection);
  const enterprise = isObject(extension) ? extension : undefined;
  const manager = enterprise?.["manager"];
  return {
    ...shown,
    ...(Array.isArray(groups) && { groups: groups.map(referenceMessage) }),
    ...(meta !== undefined && { meta: metaMessage(meta) }),
    ...(enterprise !== undefined && {
      enterpriseUser: { ...enterprise, ...(manager !== undefined && { manager: referenceMessage(manager) }) },
    }),
  };
}
