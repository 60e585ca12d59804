import type { ServiceImpl } from "@connectrpc/connect";
import type { UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import { caller } from "../../platform/caller.ts";
import type { RequestContexts } from "../../platform/context.ts";
import type { People } from "./people.ts";
import type { PersonRow } from "./person-store.ts";

/** A picture is an image and nothing else, for the caller alone, and checked again each time it is used. */
const pictureHeaders = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; sandbox",
  "cache-control": "private, no-cache",
};

/** Profiles and pictures: what of the users area is about people themselves. */
export function profileRpc(people: People, contexts: RequestContexts): Partial<ServiceImpl<typeof UsersService>> {
  return {
    getProfile: async (_request, context) => printProfile(await people.profile(caller(context))),
    updateProfile: async ({ firstName, phone }, context) => {
      await people.updateProfile(contexts.authenticated(context), { firstName, phone });
      return { status: "ok" };
    },
    getPicture: async ({ userUuid }, context) => {
      const { contentType, etag, image } = await people.pictures.find(caller(context), userUuid);
      for (const [name, value] of Object.entries({ etag, ...pictureHeaders })) context.responseHeader.set(name, value);
      return { contentType, data: image };
    },
    setPicture: async ({ body }, context) => people.pictures.set(caller(context), Buffer.from(body?.data ?? [])),
  };
}

function printProfile(person: PersonRow) {
  return {
    id: person.id,
    firstName: person.first_name,
    lastName: person.last_name,
    email: person.email,
    userUuid: person.uuid,
    ...(person.phone === null ? {} : { phone: person.phone }),
    ...(person.username === null ? {} : { username: person.username }),
  };
}
