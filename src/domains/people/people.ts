import type { Caller } from "../../platform/caller.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import { checkPassword } from "../../platform/crypto/password-rules.ts";
import { violatedConstraint } from "../../platform/db/failure.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import type { Email } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import type { Random } from "../../platform/random.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Person } from "./entities.ts";
import { userErrors } from "./errors.ts";
import * as store from "./store.ts";
import type { PersonRow } from "./store.ts";

const phoneForm = /^\+[1-9]\d{1,14}$/u;

/** What people are made of. */
export interface UsersDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "uuid">;
  events: Events;
}

/** A person to be made. */
export interface PersonToMake {
  email: Email;
  firstName?: string | undefined;
  lastName?: string | undefined;
  /** PHC string; null for somebody who signs in by other doors. */
  passwordHash: string | null;
  /** Whether the mailbox has been proven. */
  confirmed: boolean;
  /** Platform admin, superuser and operator. */
  powerful?: boolean | undefined;
  /** Unique without case; see `readUsername`. */
  username?: string | undefined;
  /** E.164. */
  phone?: string | undefined;
}

/** People and their profiles. */
export function createPeople({ database, clock, random, events }: UsersDeps) {
  async function make(tx: Tx, person: PersonToMake): Promise<{ id: number; uuid: string } | undefined> {
    const uuid = random.uuid();
    const made = await store
      .insertPerson(
        tx,
        uuid,
        {
          email: person.email.address,
          emailKey: person.email.key,
          firstName: person.firstName ?? "",
          lastName: person.lastName ?? "",
          passwordHash: person.passwordHash,
          confirmed: person.confirmed,
          powerful: person.powerful ?? false,
          username: person.username ?? null,
          phone: person.phone || null,
        },
        dateOf(clock),
      )
      .catch((error: unknown) => {
        throw violatedConstraint(error) === "people_username" ? userErrors.usernameTaken() : error;
      });
    return made === undefined ? undefined : { id: made.id, uuid };
  }

  async function profile(caller: Caller): Promise<PersonRow> {
    const person = caller.userUuid === null ? undefined : await store.findPerson(database, caller.userUuid);
    if (person === undefined) throw errors.forbidden();
    return person;
  }

  /** Refuses a password that breaks the rules: 400 `validation_error` for `field`. */
  async function demandGoodPassword(
    password: string,
    owner: { email?: string; orgName?: string },
    field = "password",
  ): Promise<void> {
    const fault = await checkPassword(password, owner, field);
    if (fault !== undefined) throw errors.validation({ fields: [fault] });
  }

  return {
    profile,

    /** A new person. Throws 409 `email_taken`, `username_taken`. */
    async create(tx: Tx, person: PersonToMake): Promise<{ id: number; uuid: string }> {
      const made = await make(tx, person);
      if (made === undefined) throw userErrors.emailTaken();
      return made;
    },

    /**
     * The person behind an address that has just been proven, made when there is none; row locked. `complete` tells
     * whether no second factor of theirs is left to pass. `lostCredentials`: this was the first proof of an unconfirmed
     * address, so the password is removed and the caller must end the other credentials.
     */
    async proven(
      tx: Tx,
      email: Email,
      complete: (userUuid: string) => Promise<boolean>,
    ): Promise<{ person: Person; lostCredentials: boolean; confirmed: boolean }> {
      await make(tx, { email, passwordHash: null, confirmed: true });
      const person = await store.lockPersonByEmail(tx, email.key);
      if (person === null) throw errors.unauthorized();
      const before = person.emailConfirmedAt;
      const lostCredentials = person.proveMailbox(dateOf(clock), await complete(person.uuid));
      return { person, lostCredentials, confirmed: !before && Boolean(person.emailConfirmedAt) };
    },

    /** Confirms the address of a sign-up by the link mailed then. Undefined when it was confirmed before. */
    async confirm(tx: Tx, userUuid: string): Promise<{ email: string } | undefined> {
      const person = await store.lockPerson(tx, userUuid);
      return person?.confirm(dateOf(clock)) === true ? { email: person.email } : undefined;
    },

    /** Confirms the address of somebody who proved their mailbox and has now passed the second factor too. */
    confirmProven: (tx: Tx, userUuid: string): Promise<boolean> => store.confirmProven(tx, userUuid, dateOf(clock)),

    /** Locks an account; returns its address and whether that was confirmed. */
    async lockUnconfirmed(tx: Tx, userUuid: string): Promise<{ email: string; confirmed: boolean } | undefined> {
      const person = await store.lockPerson(tx, userUuid);
      return person === null ? undefined : { email: person.email, confirmed: Boolean(person.emailConfirmedAt) };
    },

    /**
     * Ends an account whose address was never confirmed, once nothing of it is left elsewhere; the address is free
     * then.
     */
    async disown(tx: Tx, userUuid: string): Promise<void> {
      (await store.lockPerson(tx, userUuid))?.disown(dateOf(clock));
      await tx.em.flush();
      await store.deletePicture(tx, userUuid);
    },

    /**
     * Notes that somebody who exists has the mailbox an invitation was sent to. They have also proven who they are,
     * so what they proved it with stays. False when the address was confirmed before.
     */
    confirmByInvitation: (tx: Tx, userUuid: string): Promise<boolean> =>
      store.confirmEmail(tx, userUuid, dateOf(clock)),

    /** Changes names and telephone number (E.164; empty removes it) of the caller. Throws 400 `invalid_phone`. */
    async updateProfile(
      context: CallerContext,
      change: { firstName?: string | undefined; lastName?: string | undefined; phone?: string | undefined },
    ): Promise<void> {
      const { userUuid, orgUuid } = context.caller;
      if (userUuid === null) throw errors.forbidden();
      if (change.phone !== undefined && change.phone !== "" && !phoneForm.test(change.phone))
        throw userErrors.invalidPhone();
      await context.transaction(async (tx) => {
        const person = await store.lockPerson(tx, userUuid);
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

    /** Whether somebody is superuser. Throws 404 `not_found` for an unknown address. */
    async superuser(address: string): Promise<{ email: string; isSuperuser: boolean }> {
      const email = parseEmail(address);
      const person = email === undefined ? undefined : await store.findPersonByEmail(database, email.key);
      if (person === undefined) throw userErrors.notFound();
      return { email: person.email, isSuperuser: person.is_superuser };
    },

    demandGoodPassword,

    /**
     * Refuses a new password of somebody who is here, as above; it must not be the name of any of their organizations
     * either.
     */
    async demandGoodPasswordOf(
      person: { uuid: string; email: string },
      password: string,
      field: string,
    ): Promise<void> {
      const names = await store.organizationNamesOf(database, person.uuid);
      for (const orgName of ["", ...names]) await demandGoodPassword(password, { email: person.email, orgName }, field);
    },

    /**
     * Gives somebody a new password; what was proven with the old one no longer counts. False, and nothing happens,
     * when the credentials are no longer those of version `was`.
     */
    async setPassword(tx: Tx, userUuid: string, passwordHash: string, was?: number): Promise<boolean> {
      const person = await store.lockPerson(tx, userUuid);
      if (person === null || (was !== undefined && person.credentialsVersion !== was)) return false;
      person.takePassword(passwordHash, dateOf(clock));
      return true;
    },

    /** Locks the row of somebody until the transaction ends, against every change of their credentials and factors. */
    async lock(tx: Tx, userUuid: string): Promise<void> {
      await store.lockPerson(tx, userUuid);
    },

    /** What is known of the password of the person behind an address. */
    findByEmail: (emailKey: string) => store.findPasswordByEmail(database, emailKey),
    /** What the password of somebody is judged by. */
    findPassword: (userUuid: string) => store.findPassword(database, userUuid),
    /** What a password login is judged by. */
    findForLogin: (email: Email, nameKey: string) => store.findForLogin(database, email.key, nameKey),
    /** Stores a stronger hash of the same password. */
    replaceHash: store.replaceHash,
    /** Active owners of an organization, the first one first. */
    ownersOf: (orgUuid: string): Promise<{ userUuid: string; email: string }[]> => store.ownersOf(database, orgUuid),
    /** Addresses of people, by user_uuid. */
    emailsOf: (userUuids: readonly string[]): Promise<ReadonlyMap<string, string>> =>
      store.emailsOf(database, userUuids),
    /** Whether a person is or was a member of the organization; with null, exists at all. */
    isKnown: (userUuid: string, orgUuid: string | null): Promise<boolean> => store.isKnown(database, userUuid, orgUuid),
  };
}
