import type { Caller } from "../../platform/caller.ts";
import type { CallerContext } from "../../platform/context.ts";
import { dateOf } from "../../platform/clock.ts";
import { errors } from "../../platform/errors.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { AccountsDeps } from "./accounts.ts";
import { peopleErrors } from "./errors.ts";
import { findPerson, lockPerson } from "./person-store.ts";
import type { PersonRow } from "./person-store.ts";

const phoneForm = /^\+[1-9]\d{1,14}$/u;

/** Dependencies of profiles. */
export interface ProfilesDeps extends Pick<AccountsDeps, "database" | "clock"> {
  events: Pick<Events, "emit">;
}

/** Profiles of people, read and changed by themselves. */
export function createProfiles({ database, clock, events }: ProfilesDeps) {
  return {
    /**
     * The caller's profile.
     * @throws {forbidden} when the caller is not a person
     */
    async profile(caller: Caller): Promise<PersonRow> {
      const person = caller.userUuid === null ? undefined : await findPerson(database, caller.userUuid);
      if (person === undefined) throw errors.forbidden();
      return person;
    },

    /**
     * Changes the caller's names and telephone number (E.164; empty removes it).
     * @throws {forbidden} when the caller is not a person
     * @throws {invalid_phone} when the number is not E.164
     */
    async updateProfile(
      context: CallerContext,
      change: { firstName?: string | undefined; lastName?: string | undefined; phone?: string | undefined },
    ): Promise<void> {
      const { userUuid, orgUuid } = context.caller;
      if (userUuid === null) throw errors.forbidden();
      if (change.phone !== undefined && change.phone !== "" && !phoneForm.test(change.phone))
        throw peopleErrors.invalidPhone();
      await context.transaction(async (tx) => {
        const person = await lockPerson(tx, userUuid);
        const changed = person?.describe(change, dateOf(clock)) ?? [];
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
