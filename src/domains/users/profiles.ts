import type { CallerContext } from "../../platform/context.ts";
import { personRequired } from "../../platform/caller.ts";
import { errors } from "../../platform/errors.ts";
import { personName } from "../../platform/names.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { People, PersonRow, ProfileChange } from "../people/index.ts";
import { userErrors } from "./errors.ts";

/** An E.164 number. */
const phoneForm = /^\+[1-9]\d{1,14}$/u;

/** Dependencies of profiles. */
export interface ProfilesDeps {
  events: Pick<Events, "emit">;
  people: Pick<People, "profileOf" | "describe">;
}

/** Profiles of people, read and changed by themselves. */
export function createProfiles({ events, people }: ProfilesDeps) {
  return {
    /**
     * The caller's profile.
     * @throws {forbidden} when the caller is not a person
     */
    async find({ caller }: CallerContext): Promise<PersonRow> {
      if (caller.userUuid === null) throw personRequired();
      const person = await people.profileOf(caller.userUuid);
      if (person === undefined) throw errors.unauthorized();
      return person;
    },

    /**
     * Changes the caller's names and telephone number (E.164; empty removes it).
     * @throws {forbidden} when the caller is not a person
     * @throws {validation_error} when the given name is blank
     * @throws {invalid_phone} when the number is not E.164
     */
    async update(context: CallerContext, change: ProfileChange): Promise<void> {
      const { userUuid, orgUuid } = context.caller;
      if (userUuid === null) throw personRequired();
      if (change.phone !== undefined && change.phone !== "" && !phoneForm.test(change.phone))
        throw userErrors.invalidPhone();
      const firstName = change.firstName === undefined ? undefined : personName(change.firstName);
      if (firstName === "")
        throw errors.validation({ fields: [{ field: "first_name", code: "required", message: "is required" }] });
      await context.transaction(async (tx) => {
        const changed = await people.describe(tx, userUuid, { ...change, firstName });
        if (changed.length === 0) return;
        await events.emit(tx, EVENTS["profile.updated"], {
          by: causedBy(context),
          orgUuid,
          resourceId: userUuid,
          metadata: { changed },
          data: { user_uuid: userUuid, changed },
        });
      });
    },
  };
}
