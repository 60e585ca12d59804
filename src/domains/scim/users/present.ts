import { hash } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { MetaSchema, UserSchema } from "../../../../gen/atrium/scim/v1/resources_pb.ts";
import { isoText } from "../../../transcoding/index.ts";
import { schemasOf } from "../resource/fold.ts";
import { select } from "../resource/select.ts";
import type { Selection } from "../resource/select.ts";
import { isObject } from "../resource/values.ts";
import type { Json, Resource } from "../resource/values.ts";
import { ENTERPRISE, USER } from "../schema/index.ts";
import type { ListedUser } from "./store.ts";

/**
 * Weak ETag of a user: the groups they are in are part of it, and when they were created, because somebody who is
 * deleted and created again has the same id, and versions from 1.
 */
export function userEtag({ version, groups, createdAt }: Pick<ListedUser, "version" | "groups" | "createdAt">): string {
  // The text of JSON.stringify([createdAt, groups]): another one would change every ETag that clients hold.
  const listed = groups.length === 0 ? "[]" : JSON.stringify(groups);
  const digest = hash("sha256", `["${isoText(createdAt.getTime())}",${listed}]`, "base64url");
  return `W/"${version}-${digest.slice(0, 16)}"`;
}

/**
 * A user under the names of the schemas, with what the service adds; times of `meta` are milliseconds. `baseUrl`: of
 * the organization's SCIM.
 */
function userResource(row: ListedUser, baseUrl: string): Resource {
  const { userUuid, data, active, groups, createdAt, updatedAt } = row;
  return {
    // First: V8 clones the object of a leading spread as a whole.
    ...data,
    schemas: schemasOf(USER, data),
    id: userUuid,
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
      created: createdAt.getTime(),
      lastModified: updatedAt.getTime(),
      location: `${baseUrl}/Users/${userUuid}`,
      version: userEtag(row),
    },
  };
}

/** Converts `meta` to a message, its times from milliseconds to timestamps. */
export function metaMessage(meta: Json): MessageInitShape<typeof MetaSchema> {
  if (!isObject(meta)) return {};
  const { created, lastModified } = meta;
  const message: MessageInitShape<typeof MetaSchema> & Record<string, unknown> = { ...meta };
  if (typeof created === "number") message.created = timestampFromMs(created);
  if (typeof lastModified === "number") message.lastModified = timestampFromMs(lastModified);
  return message;
}

/** `$ref` is called `ref` in messages. */
export function referenceMessage(value: Json): Record<string, Json> {
  if (!isObject(value)) return {};
  const { $ref, ...rest } = value;
  return $ref === undefined ? rest : { ...rest, ref: $ref };
}

/** A user as the contract's message, with the attributes of a selection. */
export function printUser(row: ListedUser, baseUrl: string, selection: Selection): MessageInitShape<typeof UserSchema> {
  const shown = select(USER, userResource(row, baseUrl), selection);
  const { meta, groups, [ENTERPRISE]: extension } = shown;
  // Members that the message does not have, such as the URN of the extension, are ignored.
  const message: MessageInitShape<typeof UserSchema> & Record<string, unknown> = { ...shown, groups: [] };
  if (Array.isArray(groups)) message.groups = groups.map(referenceMessage);
  if (meta !== undefined) message.meta = metaMessage(meta);
  if (isObject(extension)) {
    const { manager } = extension;
    message.enterpriseUser = { ...extension, ...(manager !== undefined && { manager: referenceMessage(manager) }) };
  }
  return message;
}
