import type { Tx } from "../../platform/db/types.ts";
import { endTogether } from "./ending-store.ts";
import type { EndedSessions } from "./ending-store.ts";
import { loginAccountId } from "./rules.ts";
import type { DeviceAccount, Sight } from "./rules.ts";

/** Maximum number of entries that are read for an admin, who also sees other people's. */
const MAX_ENTRIES = 200;

/** Whether a caller sees a live session or an account on a device. */
export async function seesDevice(tx: Tx, deviceUuid: string, { userUuid, adminOf }: Sight, at: Date): Promise<boolean> {
  const rows = await tx.query<{ seen: boolean }>(
    `select exists (
         select 1 from sessions
         where device_uuid = $1 and (user_uuid = $2 or org_uuid = $3) and revoked_at is null and expires_at > $4)
       or exists (
         select 1 from device_accounts where device_uuid = $1 and (holder_uuid = $2 or org_uuid = $3)) as seen`,
    [deviceUuid, userUuid, adminOf, at],
  );
  return rows[0]?.seen === true;
}

interface LoginRow {
  userUuid: string;
  orgUuid: string | null;
  email: string;
  elsewhere: boolean;
  addedAt: Date;
  lastUsedAt: Date;
}

/**
 * The accounts that are on a device by their live sessions: the caller's own, in the organization of their token, and
 * for an admin those of all its members.
 */
export async function loginAccounts(
  tx: Tx,
  deviceUuid: string,
  caller: { userUuid: string; orgUuid: string | null },
  sight: Sight,
  at: Date,
): Promise<DeviceAccount[]> {
  const rows = await tx.query<LoginRow>(
    `select s.user_uuid as "userUuid", s.org_uuid as "orgUuid", p.email, min(s.created_at) as "addedAt",
       max(s.last_seen_at) as "lastUsedAt",
       exists (
         select 1 from device_accounts a where a.device_uuid = $1 and a.holder_uuid = s.user_uuid and a.active
       ) as elsewhere
     from sessions s join people p on p.uuid = s.user_uuid
     where s.device_uuid = $1 and s.revoked_at is null and s.expires_at > $2
       and (s.org_uuid = $5 or (s.user_uuid = $3 and s.org_uuid is not distinct from $4))
     group by s.user_uuid, s.org_uuid, p.email order by s.user_uuid = $3 desc, "addedAt" limit ${MAX_ENTRIES}`,
    [deviceUuid, at, caller.userUuid, caller.orgUuid, sight.adminOf],
  );
  return rows.map((row) => ({
    id: loginAccountId(deviceUuid, row.userUuid, row.orgUuid),
    kind: row.userUuid === caller.userUuid ? "own" : "other",
    login: true,
    userUuid: row.userUuid,
    email: row.email,
    orgUuid: row.orgUuid,
    active: !row.elsewhere,
    addedAt: row.addedAt,
    lastUsedAt: row.lastUsedAt,
  }));
}

interface AddedRow {
  uuid: string;
  holderUuid: string;
  userUuid: string;
  orgUuid: string | null;
  email: string;
  active: boolean;
  addedAt: Date;
  lastUsedAt: Date;
}

/**
 * The accounts that were added on a device by the caller, and for an admin by anybody where they act in the
 * organization.
 */
export async function addedAccounts(tx: Tx, deviceUuid: string, sight: Sight): Promise<DeviceAccount[]> {
  const rows = await tx.query<AddedRow>(
    `select a.uuid, a.holder_uuid as "holderUuid", a.user_uuid as "userUuid", a.org_uuid as "orgUuid", p.email,
       a.active, a.added_at as "addedAt", a.last_used_at as "lastUsedAt"
     from device_accounts a join people p on p.uuid = a.user_uuid
     where a.device_uuid = $1 and (a.holder_uuid = $2 or a.org_uuid = $3)
     order by a.holder_uuid = $2 desc, a.added_at limit ${MAX_ENTRIES}`,
    [deviceUuid, sight.userUuid, sight.adminOf],
  );
  return rows.map((row) => ({
    id: row.uuid,
    kind: row.holderUuid === sight.userUuid ? "added" : "other",
    login: false,
    userUuid: row.userUuid,
    email: row.email,
    orgUuid: row.orgUuid,
    active: row.active,
    addedAt: row.addedAt,
    lastUsedAt: row.lastUsedAt,
  }));
}

/** Serializes changes of the accounts a person has on a device, until the transaction ends. */
export async function lockAccounts(tx: Tx, deviceUuid: string, holderUuid: string): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
    `device accounts ${deviceUuid.toLowerCase()} ${holderUuid}`,
  ]);
}

/** An account to store. */
export interface NewAccount {
  uuid: string;
  deviceUuid: string;
  holderUuid: string;
  sessionId: string;
  userUuid: string;
  orgUuid: string | null;
  at: Date;
}

/** Stores an account. */
export async function insertAccount(tx: Tx, account: NewAccount): Promise<void> {
  await tx.query(
    `insert into device_accounts
       (uuid, device_uuid, holder_uuid, session_uuid, user_uuid, org_uuid, added_at, last_used_at)
     values ($1, $2, $3, $4, $5, $6, $7, $7)`,
    [
      account.uuid,
      account.deviceUuid,
      account.holderUuid,
      account.sessionId,
      account.userUuid,
      account.orgUuid,
      account.at,
    ],
  );
}

/** Removes an account and ends the sessions that were opened by switching to it. */
export async function deleteAccount(tx: Tx, uuid: string, at: Date): Promise<EndedSessions[]> {
  await tx.query("delete from device_accounts where uuid = $1", [uuid]);
  return endTogether(tx, { where: "account_uuid = $1", at: "$2", reason: "'account_removed'" }, [uuid, at]);
}

/** Ends the live sessions of a person on a device in one organization, or in none. */
export function endLogins(
  tx: Tx,
  deviceUuid: string,
  userUuid: string,
  orgUuid: string | null,
  at: Date,
): Promise<EndedSessions[]> {
  const where = "device_uuid = $1 and user_uuid = $2 and org_uuid is not distinct from $3";
  return endTogether(tx, { where, at: "$4", reason: "'account_removed'" }, [deviceUuid, userUuid, orgUuid, at]);
}

/** The session an account was proven by, live or not; null for an account that was removed. */
export async function proofOf(tx: Tx, uuid: string): Promise<string | null> {
  const rows = await tx.query<{ sessionUuid: string }>(
    `select session_uuid as "sessionUuid" from device_accounts where uuid = $1`,
    [uuid],
  );
  return rows[0]?.sessionUuid ?? null;
}

/** Stores which account is in use on a device; null: the login's own. */
export async function activate(
  tx: Tx,
  deviceUuid: string,
  holderUuid: string,
  uuid: string | null,
  at: Date,
): Promise<void> {
  await tx.query(
    `update device_accounts
     set active = coalesce(uuid = $3, false), last_used_at = case when uuid = $3 then $4 else last_used_at end
     where device_uuid = $1 and holder_uuid = $2 and (active or uuid = $3)`,
    [deviceUuid, holderUuid, uuid, at],
  );
}

/** Stores the account a session was opened for by switching. */
export async function markSwitched(tx: Tx, sessionId: string, uuid: string): Promise<void> {
  await tx.query("update sessions set account_uuid = $2 where uuid = $1", [sessionId, uuid]);
}
