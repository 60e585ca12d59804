import type { Database, Tx } from "../../platform/db/types.ts";

/** Wrong attempts after which a code is used up. */
const MAX_FAILURES = 5;

/** A one-time code to store. */
export interface NewCode {
  emailKey: string;
  email: string;
  appUuid: string | null;
  /** Sealed. */
  key: Buffer;
  hash: Buffer;
  at: Date;
  expiresAt: Date;
}

/** Stores a code; it replaces the previous one for the same address and app. */
export async function replaceCode(
  tx: Tx,
  { emailKey, email, appUuid, key, hash, at, expiresAt }: NewCode,
): Promise<void> {
  await tx.query(
    `insert into one_time_codes (email_key, app_uuid, email, key, hash, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (email_key, app_uuid) do update
     set email = excluded.email, key = excluded.key, hash = excluded.hash, failures = 0,
       created_at = excluded.created_at, expires_at = excluded.expires_at`,
    [emailKey, appUuid, email, key, hash, at, expiresAt],
  );
}

/** A live code. */
export interface CodeRow {
  email: string;
  key: Buffer;
  hash: Buffer;
}

/** The live code for an address and app, row locked: attempts on one code run one after another. */
export async function lockCode(
  tx: Tx,
  emailKey: string,
  appUuid: string | null,
  at: Date,
): Promise<CodeRow | undefined> {
  const rows = await tx.query<CodeRow>(
    `select email, key, hash from one_time_codes
     where email_key = $1 and app_uuid is not distinct from $2 and expires_at > $3 and failures < ${MAX_FAILURES}
     for update`,
    [emailKey, appUuid, at],
  );
  return rows[0];
}

/** Counts a wrong attempt. */
export async function countFailure(tx: Tx, emailKey: string, appUuid: string | null): Promise<void> {
  await tx.query(
    "update one_time_codes set failures = failures + 1 where email_key = $1 and app_uuid is not distinct from $2",
    [emailKey, appUuid],
  );
}

/** Deletes a code that was used. */
export async function deleteCode(tx: Tx, emailKey: string, appUuid: string | null): Promise<void> {
  await tx.query("delete from one_time_codes where email_key = $1 and app_uuid is not distinct from $2", [
    emailKey,
    appUuid,
  ]);
}

/** Deletes every code mailed to an address. */
export async function endCodes(tx: Tx, emailKey: string): Promise<void> {
  await tx.query("delete from one_time_codes where email_key = $1", [emailKey]);
}

/** Deletes up to 1,000 codes that expired before a time; returns how many. */
export async function deleteExpiredCodes(database: Database, before: Date): Promise<number> {
  const sql = `delete from one_time_codes where ctid = any (array(
      select ctid from one_time_codes where expires_at < $1 order by expires_at limit 1000 for update skip locked))
    returning 1 as one`;
  return (await database.prepared("login_delete_expired_codes", sql, [before])).length;
}
