import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import { violatedConstraint } from "../../platform/db/failure.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import type { Email } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import type { Random } from "../../platform/random.ts";
import type { Person, ProfileChange } from "./entities.ts";
import { peopleErrors } from "./errors.ts";
import * as store from "./person-store.ts";
import { deletePicture } from "./picture-store.ts";

/** Dependencies of accounts. */
export interface AccountsDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "uuid">;
}

/** A person to create. */
export interface PersonToMake {
  email: Email;
  firstName?: string | undefined;
  lastName?: string | undefined;
  /** PHC string; null for somebody who signs in by other methods. */
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

/** Accounts of people: how they begin, are confirmed and end. */
export function createAccounts({ database, clock, random }: AccountsDeps) {
  async function insert(tx: Tx, person: PersonToMake): Promise<{ id: number; uuid: string } | undefined> {
    const uuid = random.uuid();
    const row: store.NewPerson = {
      email: person.email.address,
      emailKey: person.email.key,
      firstName: person.firstName ?? "",
      lastName: person.lastName ?? "",
      passwordHash: person.passwordHash,
      confirmed: person.confirmed,
      powerful: person.powerful ?? false,
      username: person.username ?? null,
      phone: person.phone || null,
    };
    const inserted = await store.insertPerson(tx, uuid, row, dateOf(clock)).catch((error: unknown) => {
      throw violatedConstraint(error) === "people_username" ? peopleErrors.usernameTaken() : error;
    });
    return inserted === undefined ? undefined : { id: inserted.id, uuid };
  }

  return {
    /**
     * Creates a person.
     * @throws {email_taken} when the address has an account
     * @throws {username_taken} when the username is in use
     */
    async create(tx: Tx, person: PersonToMake): Promise<{ id: number; uuid: string }> {
      const created = await insert(tx, person);
      if (created === undefined) throw peopleErrors.emailTaken();
      return created;
    },

    /** Creates a person; undefined when the address has an account. */
    createUnlessKnown: insert,

    /**
     * Creates people without a password, whose addresses nobody has proven. Returns their ids in the same order;
     * undefined where the address has an account.
     */
    async createAllUnlessKnown(
      tx: Tx,
      people: readonly { email: Email; firstName: string; lastName: string }[],
    ): Promise<(string | undefined)[]> {
      const rows = people.map(({ email, firstName, lastName }) => ({
        uuid: random.uuid(),
        email: email.address,
        emailKey: email.key,
        firstName,
        lastName,
      }));
      const made = await store.insertAccounts(tx, rows, dateOf(clock));
      return rows.map(({ uuid }) => (made.has(uuid) ? uuid : undefined));
    },

    /**
     * Gives a person another address that nobody has proven; false where it is the one they have.
     * @throws {email_taken} when it has an account
     */
    async readdress(tx: Tx, userUuid: string, email: Email): Promise<boolean> {
      const person = await store.lockPerson(tx, userUuid);
      if (person === null || person.emailKey === email.key) return false;
      if (await store.hasAccount(tx, email.key)) throw peopleErrors.emailTaken();
      person.readdress(email, dateOf(clock));
      // Written at once: an account that was created with the address meanwhile is met here, not at the end.
      await tx.em.flush().catch((error: unknown) => {
        throw violatedConstraint(error) === "people_email_key_key" ? peopleErrors.emailTaken() : error;
      });
      return true;
    },

    /**
     * The person with an address that has just been proven, created when there is none; row locked. `complete` returns
     * whether no second factor of theirs is left to pass. `lostCredentials`: this was the first proof of an unconfirmed
     * address, so the password is removed and the caller must end the other credentials.
     */
    async proven(
      tx: Tx,
      email: Email,
      complete: (userUuid: string) => Promise<boolean>,
    ): Promise<{ person: Person; lostCredentials: boolean; confirmed: boolean }> {
      await insert(tx, { email, passwordHash: null, confirmed: true });
      const person = await store.lockPersonByEmail(tx, email.key);
      if (person === null) throw errors.unauthorized();
      const before = person.emailConfirmedAt;
      const lostCredentials = person.proveMailbox(dateOf(clock), await complete(person.uuid));
      return { person, lostCredentials, confirmed: !before && Boolean(person.emailConfirmedAt) };
    },

    /** Confirms the address of a sign-up by the link mailed then; undefined when it was confirmed before. */
    async confirm(tx: Tx, userUuid: string): Promise<{ email: string } | undefined> {
      const person = await store.lockPerson(tx, userUuid);
      return person?.confirm(dateOf(clock)) === true ? { email: person.email } : undefined;
    },

    /** Confirms the address of somebody who proved their mailbox and has now passed the second factor too. */
    confirmProven: (tx: Tx, userUuid: string): Promise<boolean> => store.confirmProven(tx, userUuid, dateOf(clock)),

    /**
     * Confirms the address an invitation was sent to, of somebody who exists. They have also proven who they are, so
     * their password stays. Returns false when the address was confirmed before.
     */
    confirmByInvitation: (tx: Tx, userUuid: string): Promise<boolean> =>
      store.confirmEmail(tx, userUuid, dateOf(clock)),

    /** Locks an account that is to end; returns its address and whether that was confirmed. */
    async lockUnconfirmed(tx: Tx, userUuid: string): Promise<{ email: string; confirmed: boolean } | undefined> {
      const person = await store.lockPersonForEnd(tx, userUuid);
      return person === null ? undefined : { email: person.email, confirmed: Boolean(person.emailConfirmedAt) };
    },

    /** Ends an account whose address was never confirmed, after everything else of it; its address becomes free. */
    async disown(tx: Tx, userUuid: string): Promise<void> {
      (await store.lockPerson(tx, userUuid))?.disown(dateOf(clock));
      await tx.em.flush();
      await deletePicture(tx, userUuid);
    },

    /** Locks a person's row until the transaction ends, against every change of their credentials and factors. */
    async lock(tx: Tx, userUuid: string): Promise<void> {
      await store.lockPerson(tx, userUuid);
    },

    /** The address of a person who has confirmed it; undefined otherwise. */
    confirmedEmail: (userUuid: string): Promise<string | undefined> => store.confirmedEmail(database, userUuid),

    /** What a person's profile shows. */
    profileOf: (userUuid: string): Promise<store.PersonRow | undefined> => store.findPerson(database, userUuid),

    /** Changes names and telephone number of a person; returns the names of what has changed. */
    async describe(tx: Tx, userUuid: string, change: ProfileChange): Promise<string[]> {
      return (await store.lockPerson(tx, userUuid))?.describe(change, dateOf(clock)) ?? [];
    },

    /**
     * Whether a person is superuser.
     * @throws {not_found} when nobody has the address
     */
    async superuser(address: string): Promise<{ email: string; isSuperuser: boolean }> {
      const email = parseEmail(address);
      const person = email === undefined ? undefined : await store.findPersonByEmail(database, email.key);
      if (person === undefined) throw peopleErrors.notFound();
      return { email: person.email, isSuperuser: person.isSuperuser };
    },

    /** Addresses of people, by user_uuid. */
    emailsOf: (userUuids: readonly string[]): Promise<ReadonlyMap<string, string>> =>
      store.emailsOf(database, userUuids),
    /** Whether a person is or was a member of the organization; with null, whether they exist at all. */
    isKnown: (userUuid: string, orgUuid: string | null): Promise<boolean> => store.isKnown(database, userUuid, orgUuid),
  };
}
