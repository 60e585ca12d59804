import type { Database, Tx } from "../../platform/db/types.ts";

/** A factor as its person sees it. */
export interface FactorRow {
  id: number;
  factorType: string;
  label: string | null;
  status: "pending" | "active";
}

/** A factor and its sealed secret. */
export interface SecretRow {
  id: number;
  status: "pending" | "active";
  secret: Buffer;
}

/** A person's factors, oldest first, without disabled ones. */
export function factorsOf(database: Database, userUuid: string): Promise<FactorRow[]> {
  const sql = `select id, factor_type as "factorType", label, status from mfa_factors
    where user_uuid = $1 and status <> 'disabled' order by id`;
  return database.prepared<FactorRow>("mfa_factors", sql, [userUuid]);
}

/** Number of a person's factors, active ones and those pending that were created at or after `since`. */
export async function countFactors(tx: Tx, userUuid: string, since: Date): Promise<number> {
  const rows = await tx.query<{ n: number }>(
    `select count(*)::int as n from mfa_factors
     where user_uuid = $1 and (status = 'active' or (status = 'pending' and created_at >= $2))`,
    [userUuid, since],
  );
  return rows[0]?.n ?? 0;
}

/** Disables a person's pending factors from before `since` where the person has `most` factors; returns their ids. */
export async function disableAbandoned(
  tx: Tx,
  userUuid: string,
  since: Date,
  most: number,
  at: Date,
): Promise<number[]> {
  const sql = `update mfa_factors set status = 'disabled', secret = null, disabled_at = $4
    where user_uuid = $1 and status = 'pending' and created_at < $2
      and (select count(*) from mfa_factors where user_uuid = $1 and status <> 'disabled') >= $3::integer
    returning id`;
  return (await tx.query<{ id: number }>(sql, [userUuid, since, most, at])).map(({ id }) => id);
}

/** Stores a pending factor. */
export async function insertFactor(
  tx: Tx,
  userUuid: string,
  label: string | null,
  secret: Buffer,
  at: Date,
): Promise<number> {
  const sql = `insert into mfa_factors (user_uuid, factor_type, label, secret, created_at)
    values ($1, 'totp', $2, $3, $4) returning id`;
  const [row] = await tx.query<{ id: number }>(sql, [userUuid, label, secret, at]);
  if (row === undefined) throw new Error("a factor was not stored");
  return row.id;
}

/** Whether a person has an active factor. */
export async function hasActiveFactor(tx: Pick<Tx, "query">, userUuid: string): Promise<boolean> {
  return (
    (await tx.query("select 1 from mfa_factors where user_uuid = $1 and status = 'active' limit 1", [userUuid]))
      .length > 0
  );
}

/**
 * The same where a query names the person, as `user_uuid` of at most one row: the statement need not wait for the
 * answer to that query. Undefined where it names nobody. `subject` must be a constant.
 */
export async function hasActiveFactorOf(
  tx: Tx,
  subject: string,
  params: readonly unknown[],
): Promise<{ userUuid: string; isRequired: boolean } | undefined> {
  const sql = `select s.user_uuid as "userUuid", exists (select from mfa_factors f
      where f.user_uuid = s.user_uuid and f.status = 'active') as "isRequired"
    from (${subject}) as s`;
  return (await tx.query<{ userUuid: string; isRequired: boolean }>(sql, params))[0];
}

/** The secrets of a person's active factors, oldest first. */
export function activeSecrets(tx: Tx, userUuid: string): Promise<SecretRow[]> {
  return tx.query<SecretRow>(
    "select id, status, secret from mfa_factors where user_uuid = $1 and status = 'active' order by id",
    [userUuid],
  );
}

/** A person's factor that is not disabled. */
export async function findFactor(tx: Tx, userUuid: string, id: number): Promise<SecretRow | undefined> {
  const sql =
    "select id, status, secret from mfa_factors where user_uuid = $1 and id = $2::bigint and status <> 'disabled'";
  return (await tx.query<SecretRow>(sql, [userUuid, id]))[0];
}

/** Uses a time step up: once, and no step at or before a used one. False when it is used. */
export async function takeStep(tx: Tx, id: number, step: number): Promise<boolean> {
  const sql = `update mfa_factors set last_step = $2
    where id = $1 and status = 'active' and (last_step is null or last_step < $2) returning id`;
  return (await tx.query(sql, [id, step])).length === 1;
}

/** Makes a pending factor active, its first step taken; false when it is not pending. */
export async function activateFactor(tx: Tx, id: number, step: number, at: Date): Promise<boolean> {
  const sql = `update mfa_factors set status = 'active', activated_at = $3, last_step = $2
    where id = $1 and status = 'pending' returning id`;
  return (await tx.query(sql, [id, step, at])).length === 1;
}

/** Disables a factor and deletes its secret; false when it is disabled. */
export async function disableFactor(tx: Tx, id: number, at: Date): Promise<boolean> {
  const sql = `update mfa_factors set status = 'disabled', secret = null, disabled_at = $2
    where id = $1 and status <> 'disabled' returning id`;
  return (await tx.query(sql, [id, at])).length === 1;
}

/** Disables every factor of a person; returns their ids and previous status. */
export function disableAll(tx: Tx, userUuid: string, at: Date): Promise<{ id: number; status: string }[]> {
  const sql = `with gone as (
      select id, status from mfa_factors where user_uuid = $1 and status <> 'disabled' order by id for update
    )
    update mfa_factors f set status = 'disabled', secret = null, disabled_at = $2
    from gone where f.id = gone.id returning f.id, gone.status`;
  return tx.query<{ id: number; status: string }>(sql, [userUuid, at]);
}

/** A recovery code, without the code. */
export interface RecoveryCodeRow {
  id: number;
  createdAt: Date;
  usedAt: Date | null;
}

/** The present generation of a person's recovery codes. */
export function recoveryCodesOf(database: Database, userUuid: string): Promise<RecoveryCodeRow[]> {
  const sql = `select id, created_at as "createdAt", used_at as "usedAt" from mfa_recovery_codes
    where user_uuid = $1 order by id`;
  return database.prepared<RecoveryCodeRow>("mfa_recovery_codes", sql, [userUuid]);
}

/** Deletes a person's recovery codes. */
export async function dropRecoveryCodes(tx: Tx, userUuid: string): Promise<void> {
  await tx.query("delete from mfa_recovery_codes where user_uuid = $1", [userUuid]);
  await tx.query("delete from mfa_recovery_keys where user_uuid = $1", [userUuid]);
}

/** Stores a generation of recovery codes; the previous one must have been dropped. */
export async function insertRecoveryCodes(
  tx: Tx,
  userUuid: string,
  sealedKey: Buffer,
  hashes: readonly Buffer[],
  at: Date,
): Promise<void> {
  await tx.query("insert into mfa_recovery_keys (user_uuid, key) values ($1, $2)", [userUuid, sealedKey]);
  const sql = `insert into mfa_recovery_codes (user_uuid, hash, created_at)
    select $1, hash, $3 from unnest($2::bytea[]) as codes (hash)`;
  await tx.query(sql, [userUuid, hashes, at]);
}

/** The sealed key of a person's present recovery codes. */
export async function recoveryKey(tx: Tx, userUuid: string): Promise<Buffer | undefined> {
  return (await tx.query<{ key: Buffer }>("select key from mfa_recovery_keys where user_uuid = $1", [userUuid]))[0]
    ?.key;
}

/** Uses a recovery code up: one of several concurrent transactions succeeds. False when it is unknown or used. */
export async function useRecoveryCode(tx: Tx, userUuid: string, hash: Buffer, at: Date): Promise<boolean> {
  const sql = `update mfa_recovery_codes set used_at = $3
    where user_uuid = $1 and hash = $2 and used_at is null returning id`;
  return (await tx.query(sql, [userUuid, hash, at])).length === 1;
}

/** Whether a person has an active factor, and an unused recovery code. */
export async function factorStatus(database: Database, userUuid: string): Promise<{ active: boolean; codes: boolean }> {
  const sql = `select exists (select 1 from mfa_factors where user_uuid = $1 and status = 'active') as active,
    exists (select 1 from mfa_recovery_codes where user_uuid = $1 and used_at is null) as codes`;
  const [row] = await database.prepared<{ active: boolean; codes: boolean }>("mfa_status", sql, [userUuid]);
  return row ?? { active: false, codes: false };
}

/** Deletes up to 1,000 factors that were disabled before a time; returns how many. */
export async function deleteDisabled(database: Pick<Database, "prepared">, before: Date): Promise<number> {
  const sql = `delete from mfa_factors where id = any(array(
      select id from mfa_factors where status = 'disabled' and disabled_at < $1 order by disabled_at limit 1000
      for update skip locked))
    returning 1 as one`;
  return (await database.prepared("mfa_delete_disabled", sql, [before])).length;
}
