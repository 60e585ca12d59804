import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import * as store from "./picture-store.ts";
import type { Picture } from "./picture-store.ts";

/** Stored pictures of people. */
export function createPictures({ database, clock }: { database: Pick<Database, "prepared">; clock: Clock }) {
  return {
    /** The picture of a member, undefined where none was set; undefined when the organization has no such member. */
    find: (orgUuid: string, userUuid: string): Promise<{ picture: Picture | undefined } | undefined> =>
      store.pictureIn(database, orgUuid, userUuid),
    /** Stores a person's picture in the place of any before it. */
    set: (tx: Tx, userUuid: string, picture: Picture): Promise<void> =>
      store.setPicture(tx, userUuid, picture, dateOf(clock)),
  };
}
