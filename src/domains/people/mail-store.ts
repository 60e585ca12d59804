import type { Database, Tx } from "../../platform/db/types.ts";

/** A mail that is being addressed, and the token of its disown link in case the recipient is unconfirmed. */
export interface Addressing {
  emailKey: string;
  /** Hash of the token. */
  hash: Buffer;
  at: Date;
  expiresAt: Date;
}

/** The recipient of a mail. */
export interface Recipient {
  /** Name of the organization they used last; null where they are an active member of none. */
  lastOrganization: string | null;
  /** They have an account that was never confirmed; the token has been stored. */
  unconfirmed: boolean;
}

/**
 * Looks a recipient up, and stores the token of their disown link if they are unconfirmed, in one statement.
 */
export async function addressMail(tx: Tx, { emailKey, hash, at, expiresAt }: Addressing): Promise<Recipient> {
  const rows = await tx.query<Recipient>(
    `with person as (select uuid, email_confirmed_at is null as unconfirmed from people where email_key = $1),
       stored as (
         insert into disown_tokens (hash, user_uuid, created_at, expires_at)
         select $2, uuid, $3, $4 from person where unconfirmed returning 1)
     select exists (select 1 from stored) as unconfirmed, (
       select o.name from person p
       join memberships m on m.user_uuid = p.uuid and m.status = 'active'
       join organizations o on o.uuid = m.org_uuid and o.deleted_at is null
       order by m.last_used_at desc nulls last, m.created_at desc limit 1) as "lastOrganization"`,
    [emailKey, hash, at, expiresAt],
  );
  return rows[0] ?? { lastOrganization: null, unconfirmed: false };
}

/** A person whose account a disown token ends. */
export interface Disowned {
  userUuid: string;
  emailKey: string;
}

/** The person behind a disown token that is neither used nor expired. */
export async function disownedBy(tx: Tx, hash: Buffer, at: Date): Promise<Disowned | undefined> {
  const sql = `select p.uuid as "userUuid", p.email_key as "emailKey"
    from disown_tokens d join people p on p.uuid = d.user_uuid
    where d.hash = $1 and d.used_at is null and d.expires_at > $2`;
  return (await tx.query<Disowned>(sql, [hash, at]))[0];
}

/** Consumes a disown token, and every other one of the same person with it. False when it is used or expired. */
export async function useDisownToken(tx: Tx, hash: Buffer, userUuid: string, at: Date): Promise<boolean> {
  const used = await tx.query(
    "update disown_tokens set used_at = $2 where hash = $1 and used_at is null and expires_at > $2 returning 1 as one",
    [hash, at],
  );
  if (used.length === 0) return false;
  await tx.query("update disown_tokens set used_at = $2 where user_uuid = $1 and used_at is null", [userUuid, at]);
  return true;
}

/** Deletes disown tokens that expired before `before`, at most 1,000; returns how many. */
export async function deleteDisownTokens(database: Pick<Database, "prepared">, before: Date): Promise<number> {
  const sql = `delete from disown_tokens where hash = any(array(
    select hash from disown_tokens where expires_at < $1 order by expires_at limit 1000 for update skip locked))
    returning 1 as one`;
  return (await database.prepared("users_forget_disown", sql, [before])).length;
}
