import { LockMode } from "@mikro-orm/postgresql";
import type { Database, Tx } from "../../platform/db/types.ts";
import { Person } from "./entities.ts";

/** A new person. */
export interface NewPerson {
  email: string;
  emailKey: string;
  firstName: string;
  lastName: string;
  passwordHash: string | null;
  confirmed: boolean;
  /** Platform admin, superuser and operator, all three. */
  powerful: boolean;
  /** Unique without case. */
  username: string | null;
  phone: string | null;
}

/** Stores a person; undefined when the address is taken. */
export async function insertPerson(
  tx: Tx,
  uuid: string,
  person: NewPerson,
  at: Date,
): Promise<{ id: number } | undefined> {
  const rows = await tx.query<{ id: number }>(
    `insert into people (uuid, email, email_key, first_name, last_name, password_hash, email_confirmed_at,
       is_platform_admin, is_superuser, is_operator, username, phone, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $8, $10, $11, $9, $9)
     on conflict (email_key) do nothing returning id`,
    [
      uuid,
      person.email,
      person.emailKey,
      person.firstName,
      person.lastName,
      person.passwordHash,
      person.confirmed ? at : null,
      person.powerful,
      at,
      person.username,
      person.phone,
    ],
  );
  return rows[0];
}

/** A person of whom nothing else is known. */
export type NewAccount = Pick<NewPerson, "email" | "emailKey" | "firstName" | "lastName"> & { uuid: string };

/** Stores people without a password, whose addresses nobody has proven; returns those whose address was free. */
export async function insertAccounts(tx: Tx, people: readonly NewAccount[], at: Date): Promise<ReadonlySet<string>> {
  const rows = await tx.query<{ uuid: string }>(
    `insert into people (uuid, email, email_key, first_name, last_name, is_platform_admin, is_superuser, is_operator,
       created_at, updated_at)
     select uuid, email, email_key, first_name, last_name, false, false, false, $6, $6
     from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
       as n (uuid, email, email_key, first_name, last_name)
     on conflict (email_key) do nothing returning uuid`,
    [
      people.map(({ uuid }) => uuid),
      people.map(({ email }) => email),
      people.map(({ emailKey }) => emailKey),
      people.map(({ firstName }) => firstName),
      people.map(({ lastName }) => lastName),
      at,
    ],
  );
  return new Set(rows.map(({ uuid }) => uuid));
}

/** The person behind an address, row locked until the transaction ends. */
export function lockPersonByEmail(tx: Tx, emailKey: string): Promise<Person | null> {
  return locked(tx, "email_key", emailKey, { emailKey });
}

/** A person, row locked until the transaction ends. */
export function lockPerson(tx: Tx, uuid: string): Promise<Person | null> {
  return locked(tx, "uuid", uuid, { uuid });
}

/**
 * A person whose account ends in this transaction, row locked until then. Waits at once for rows that are being written
 * and name the person, as the change of the address, which is a key, would do later: whoever writes these may wait for
 * a credential that has ended by then.
 */
export function lockPersonForEnd(tx: Tx, uuid: string): Promise<Person | null> {
  return locked(tx, "uuid", uuid, { uuid }, "update");
}

/**
 * With the weakest lock that writers wait for, by default. `for update`, the only one MikroORM has for this, would also
 * wait for rows that name the person; whoever writes these may wait for a credential that the holder of the lock ends.
 * The lock of the second statement is weaker and held already: it makes MikroORM read the row and keep changes to the
 * entity.
 */
async function locked(
  tx: Tx,
  column: "uuid" | "email_key",
  value: string,
  where: { uuid: string } | { emailKey: string },
  strength: "no key update" | "update" = "no key update",
): Promise<Person | null> {
  const [, person] = await Promise.all([
    tx.query(`select 1 from people where ${column} = $1 for ${strength}`, [value]),
    tx.em.findOne(Person, where, { lockMode: LockMode.PESSIMISTIC_READ }),
  ]);
  return person;
}

/** Whether somebody has an address. */
export async function hasAccount(tx: Tx, emailKey: string): Promise<boolean> {
  return (await tx.query("select 1 from people where email_key = $1", [emailKey])).length > 0;
}

/** A person as the profile and the superuser lookup show them. */
export interface PersonRow {
  id: number;
  uuid: string;
  email: string;
  firstName: string;
  lastName: string;
  phone: string | null;
  username: string | null;
  hasPassword: boolean;
  isSuperuser: boolean;
}

const shown = `id, uuid, email, first_name as "firstName", last_name as "lastName", phone, username,
  password_hash is not null as "hasPassword", is_superuser as "isSuperuser"`;

/** A person by id. */
export async function findPerson(database: Database, uuid: string): Promise<PersonRow | undefined> {
  return (await database.prepared<PersonRow>("users_one", `select ${shown} from people where uuid = $1`, [uuid]))[0];
}

/** A person by address. */
export async function findPersonByEmail(database: Database, emailKey: string): Promise<PersonRow | undefined> {
  return (
    await database.prepared<PersonRow>("users_email", `select ${shown} from people where email_key = $1`, [emailKey])
  )[0];
}

/** The address of a person, where it is confirmed. */
export async function confirmedEmail(database: Pick<Database, "prepared">, uuid: string): Promise<string | undefined> {
  const sql = "select email from people where uuid = $1 and email_confirmed_at is not null";
  return (await database.prepared<{ email: string }>("people-confirmed-email", sql, [uuid]))[0]?.email;
}

/** Confirms the address of somebody; false when it was confirmed before. */
export async function confirmEmail(tx: Tx, uuid: string, at: Date): Promise<boolean> {
  const sql = `update people set email_confirmed_at = $2, updated_at = $2, version = version + 1
    where uuid = $1 and email_confirmed_at is null returning 1 as one`;
  return (await tx.query(sql, [uuid, at])).length > 0;
}

/**
 * Confirms the address of somebody who has proven their mailbox; false when that is not so, or it was confirmed before.
 */
export async function confirmProven(tx: Tx, uuid: string, at: Date): Promise<boolean> {
  const sql = `update people set email_confirmed_at = $2, updated_at = $2, version = version + 1
    where uuid = $1 and email_confirmed_at is null and mailbox_proven_at is not null returning 1 as one`;
  return (await tx.query(sql, [uuid, at])).length > 0;
}

/** Whether a person is or was a member of the organization; with null, exists at all. */
export async function isKnown(database: Database, userUuid: string, orgUuid: string | null): Promise<boolean> {
  const rows =
    orgUuid === null
      ? await database.prepared("users_known", "select 1 from people where uuid = $1", [userUuid])
      : await database.prepared("users_known_in", "select 1 from memberships where user_uuid = $1 and org_uuid = $2", [
          userUuid,
          orgUuid,
        ]);
  return rows.length > 0;
}

/** Addresses of people, by user_uuid. */
export async function emailsOf(database: Database, userUuids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await database.prepared<{ uuid: string; email: string }>(
    "users_emails",
    "select uuid, email from people where uuid = any($1::uuid[])",
    [userUuids],
  );
  return new Map(rows.map((row) => [row.uuid, row.email]));
}
