import type { Database, Tx } from "../../platform/db/types.ts";

/** The only purpose of a mailed token. */
export type MailPurpose = "magic_link" | "confirm_email" | "password_reset";

/** A mailed token that has been used. */
export interface MailTokenRow {
  email: string;
  userUuid: string | null;
  orgUuid: string | null;
  redirectTo: string | null;
  /** The mail said that the link joins the organization. */
  joins: boolean;
}

/** A token to mail; only its hash is stored. */
export interface MailTokenToStore {
  hash: Buffer;
  purpose: MailPurpose;
  email: string;
  emailKey: string;
  userUuid?: string | undefined;
  orgUuid?: string | undefined;
  redirectTo?: string | undefined;
  joins?: boolean | undefined;
  at: Date;
  expiresAt: Date;
}

/** Stores the hash of a mailed token. */
export async function insertMailToken(tx: Tx, token: MailTokenToStore): Promise<void> {
  await tx.query(
    `insert into mail_tokens
       (hash, purpose, email, email_key, user_uuid, org_uuid, redirect_to, created_at, expires_at, joins)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      token.hash,
      token.purpose,
      token.email,
      token.emailKey,
      token.userUuid ?? null,
      token.orgUuid ?? null,
      token.redirectTo ?? null,
      token.at,
      token.expiresAt,
      token.joins ?? false,
    ],
  );
}

/**
 * Uses a mailed token up: one of several concurrent transactions succeeds. Undefined when it is unknown, used or
 * expired.
 */
export async function useMailToken(
  tx: Tx,
  hash: Buffer,
  purpose: MailPurpose,
  at: Date,
): Promise<MailTokenRow | undefined> {
  const rows = await tx.query<MailTokenRow>(
    `update mail_tokens set used_at = $3 where hash = $1 and purpose = $2 and used_at is null and expires_at > $3
     returning email, user_uuid as "userUuid", org_uuid as "orgUuid", redirect_to as "redirectTo", joins`,
    [hash, purpose, at],
  );
  return rows[0];
}

/** The address of a mailed token that could be used now. */
export async function peekMailToken(
  tx: Tx,
  hash: Buffer,
  purpose: MailPurpose,
  at: Date,
): Promise<{ email: string } | undefined> {
  const sql = "select email from mail_tokens where hash = $1 and purpose = $2 and used_at is null and expires_at > $3";
  return (await tx.query<{ email: string }>(sql, [hash, purpose, at]))[0];
}

/** Address and organization of a mailed token in any state; undefined when it is unknown. */
export async function addressee(
  database: Database,
  hash: Buffer,
  purpose: MailPurpose,
): Promise<{ emailKey: string; orgUuid: string | null } | undefined> {
  const sql = `select email_key as "emailKey", org_uuid as "orgUuid" from mail_tokens where hash = $1 and purpose = $2`;
  return (
    await database.prepared<{ emailKey: string; orgUuid: string | null }>("login_addressee", sql, [hash, purpose])
  )[0];
}

/** Ends the open sign-in links and reset tokens of an address. */
export async function endMailTokens(tx: Tx, emailKey: string, at: Date): Promise<void> {
  const sql = `update mail_tokens set used_at = $2
    where email_key = $1 and purpose in ('magic_link', 'password_reset') and used_at is null and expires_at > $2`;
  await tx.query(sql, [emailKey, at]);
}

/** Ends every mailed token of an address, confirmation links included. */
export async function endAllMailTokens(tx: Tx, emailKey: string, at: Date): Promise<void> {
  await tx.query("update mail_tokens set used_at = $2 where email_key = $1 and used_at is null and expires_at > $2", [
    emailKey,
    at,
  ]);
}

/** Deletes up to 1,000 tokens that expired before a time; returns how many. */
export async function deleteExpiredMailTokens(database: Database, before: Date): Promise<number> {
  const sql = `delete from mail_tokens where hash = any(array(
    select hash from mail_tokens where expires_at < $1 order by expires_at limit 1000 for update skip locked))
    returning 1`;
  return (await database.prepared("login_delete_expired_mail_tokens", sql, [before])).length;
}

/** Lets one instance at a time bootstrap; the lock ends with the transaction. */
export async function lockBootstrap(tx: Tx): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('atrium bootstrap', 0))");
}
