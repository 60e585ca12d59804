import { createHash } from "node:crypto";
import { callerOrg, personRequired } from "../../platform/caller.ts";
import type { CallerContext } from "../../platform/context.ts";
import { errors } from "../../platform/errors.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { People, Picture } from "../people/index.ts";
import { userErrors } from "./errors.ts";
import { generatedPicture } from "./generated-picture.ts";
import { readImageHead } from "./images.ts";

const MAX_SIDE_PIXELS = 4096;
const MAX_SIZE_BYTES = 1024 * 1024;

/** Dependencies of pictures. */
export interface PicturesDeps {
  events: Pick<Events, "emit">;
  people: { pictures: Pick<People["pictures"], "find" | "set"> };
}

/** Pictures of people (decisions 2.7). */
export function createPictures({ events, people }: PicturesDeps) {
  return {
    /**
     * The picture of a member of the caller's organization, a generated one where none was set.
     * @throws {user_not_found} when the organization has no such member
     */
    async find({ caller }: CallerContext, userUuid: string): Promise<Picture> {
      const found = await people.pictures.find(callerOrg(caller), userUuid);
      if (found === undefined) throw userErrors.userNotFound();
      return found.picture ?? pictureOf("image/png", generatedPicture(userUuid.toLowerCase()));
    },

    /**
     * Sets the caller's picture.
     * @throws {forbidden} when the caller is not a person
     * @throws {unsupported_media_type} when it is no PNG, JPEG or WebP image
     * @throws {payload_too_large} when it has too many bytes or pixels
     */
    async set(context: CallerContext, image: Buffer): Promise<Pick<Picture, "etag" | "contentType">> {
      const { userUuid, orgUuid } = context.caller;
      if (userUuid === null) throw personRequired();
      if (image.length > MAX_SIZE_BYTES) throw errors.payloadTooLarge({ message: "A picture has at most 1 MiB." });
      const head = readImageHead(image);
      if (head === undefined) throw errors.unsupportedMediaType({ message: "The body is no PNG, JPEG or WebP image." });
      if (Math.max(head.width, head.height) > MAX_SIDE_PIXELS)
        throw errors.payloadTooLarge({ message: `A picture has at most ${MAX_SIDE_PIXELS} pixels a side.` });
      const picture = pictureOf(head.contentType, image);
      await context.transaction(async (tx) => {
        await people.pictures.set(tx, userUuid, picture);
        await events.emit(tx, EVENTS["user.picture_updated"], {
          by: causedBy(context),
          orgUuid,
          resourceId: userUuid,
          metadata: { content_type: picture.contentType },
        });
      });
      return picture;
    },
  };
}

function pictureOf(contentType: string, image: Buffer): Picture {
  return { contentType, etag: `"${createHash("sha256").update(image).digest("base64url").slice(0, 27)}"`, image };
}
