import { createHash } from "node:crypto";
import { callerOrg } from "../../platform/caller.ts";
import type { Caller } from "../../platform/caller.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { peopleErrors } from "./errors.ts";
import { generatedPicture } from "./generated-picture.ts";
import { readImageHead } from "./images.ts";
import * as store from "./picture-store.ts";
import type { Picture } from "./picture-store.ts";

/** Pixels a side, at most. */
const longestSide = 4096;
/** Bytes, at most. */
const largest = 1024 * 1024;

/** Pictures of people (decisions 2.7). */
export function createPictures({ database, clock }: { database: Database; clock: Clock }) {
  return {
    /**
     * The picture of somebody in the caller's organization, a generated one where none was set. Throws 404
     * `user_not_found`.
     */
    async find(caller: Caller, userUuid: string): Promise<Picture> {
      const found = await store.pictureIn(database, callerOrg(caller), userUuid);
      if (found === undefined) throw peopleErrors.userNotFound();
      return found.picture ?? pictureOf("image/png", generatedPicture(userUuid.toLowerCase()));
    },

    /** Sets the caller's picture. Throws 415 for what is no PNG, JPEG or WebP, 413 for one that is too large. */
    async set(caller: Caller, image: Buffer): Promise<Pick<Picture, "etag" | "contentType">> {
      const { userUuid } = caller;
      if (userUuid === null) throw errors.forbidden();
      if (image.length > largest) throw errors.payloadTooLarge({ message: "A picture has at most 1 MiB." });
      const head = readImageHead(image);
      if (head === undefined) throw errors.unsupportedMediaType({ message: "The body is no PNG, JPEG or WebP image." });
      if (Math.max(head.width, head.height) > longestSide)
        throw errors.payloadTooLarge({ message: `A picture has at most ${longestSide} pixels a side.` });
      const picture = pictureOf(head.contentType, image);
      await database.transaction((tx) => store.setPicture(tx, userUuid, picture, dateOf(clock)), caller);
      return picture;
    },
  };
}

function pictureOf(contentType: string, image: Buffer): Picture {
  return { contentType, etag: `"${createHash("sha256").update(image).digest("base64url").slice(0, 27)}"`, image };
}
