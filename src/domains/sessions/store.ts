import type { CursorPaging } from "../../platform/cursors.ts";
import { readList } from "../../platform/db/list.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import { SESSION_ORDERS } from "./rules.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { detach, endTogether } from "./ending-store.ts";
import type { EndedSessions } from "./ending-store.ts";

/** A session to open. Times are absolute. */
export interface NewSession {
  uuid: string;
  userUuid: string;
  orgUuid: string | null;
  deviceUuid: string;
  amr: readonly string[];
  authTime: Date;
  createdAt: Date;
  address: string;
  userAgent: string;
  /** End of the session unless it is refreshed. */
  expiresAt: Date;
  /** No refresh goes beyond this; null for a session that cannot be refreshed. */
  refreshUntil: Date | null;
  /** When the second factor was proven, where it was. */
  secondFactorAt: Date | null;
  /** The session it is derived from and ends with; null for a sign-in. */
  sourceUuid: string | null;
  /** Of a derived session: its end if its source had none. */
  idleUntil: Date | null;
  /** The organization whose identity provider opened it, or one whose token opened it; null for none. */
  providerOrgUuid: string | null;
}

/** Stores a session. */
export function insertSession(tx: Tx, session: NewSession): void {
  tx.defer(
    `insert into sessions
       (uuid, user_uuid, org_uuid, device_uuid, amr, auth_time, created_at, last_seen_at, ip_address, user_agent,
       expires_at, purge_check_at, refresh_until, second_factor_at, source_uuid, idle_until, provider_org_uuid)
     values ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9, $10, $10, $11, $12, $13, $14, $15)`,
    [
      session.uuid,
      session.userUuid,
      session.orgUuid,
      session.deviceUuid,
      session.amr,
      session.authTime,
      session.createdAt,
      session.address,
      session.userAgent,
      session.expiresAt,
      session.refreshUntil,
      session.secondFactorAt,
      session.sourceUuid,
      session.idleUntil,
      session.providerOrgUuid,
    ],
  );
}

/**
 * Stores when a person last used an organization. Never waits, because the transaction has locked sessions, and the
 * holder of the membership's lock may wait for these: skips a membership that a request in flight has reauthorized, or
 * that another sign-in is marking.
 */
export function markUsed(tx: Tx, orgUuid: string, userUuid: string, at: Date): void {
  const sql = `update memberships set last_used_at = $3 where (org_uuid, user_uuid) in (
      select org_uuid, user_uuid from memberships where org_uuid = $1 and user_uuid = $2
      for no key update skip locked)`;
  tx.defer(sql, [orgUuid, userUuid, at]);
}

/** Maximum number of sign-ins of a person whose addresses are read. */
const MAX_SIGN_INS = 10_000;

/**
 * Addresses in a range of texts that signed in the person behind an email since a time; none for an unknown email. The
 * range bounds what a stranger's attempt costs: sign-ins from other networks are not read, except where a zero in an
 * IPv6 network widens the range.
 */
export async function signInAddresses(
  database: Database,
  emailKey: string,
  since: Date,
  [first, last]: readonly [first: string, last: string],
): Promise<string[]> {
  const sql = `select distinct ip_address as address from (
    select ip_address from sessions
    where user_uuid = (select uuid from people where email_key = $1) and source_uuid is null
      and ip_address collate "C" between $3 and $4 and created_at > $2
    limit ${MAX_SIGN_INS}) as found`;
  const params = [emailKey, since, first, last];
  return (await database.prepared<{ address: string }>("sessions_sign_in_addresses", sql, params)).map(
    (row) => row.address,
  );
}

/**
 * Stores that the second factor was proven in a session. Reauthorizes the caller first, whose session it is: the
 * membership must be locked before a session.
 */
export async function markSecondFactor(tx: Tx, uuid: string, at: Date): Promise<void> {
  await tx.reauthorize();
  await tx.query("update sessions set second_factor_at = $2 where uuid = $1", [uuid, at]);
}

/**
 * Stores a step-up in a session, by any method; returns the session's absolute end, undefined when there is none. Locks
 * as {@link markSecondFactor} does.
 */
export async function markStepUp(tx: Tx, uuid: string, at: Date): Promise<Date | undefined> {
  await tx.reauthorize();
  const sql = `update sessions set step_up_at = $2 where uuid = $1
    returning coalesce(refresh_until, expires_at) as "absoluteEnd"`;
  return (await tx.query<{ absoluteEnd: Date }>(sql, [uuid, at]))[0]?.absoluteEnd;
}

/** When the person last proved who they are in a session; null for never. */
export interface LastProofs {
  /** By the second factor. */
  secondFactor: Date | null;
  /** By a step-up of any kind, or the second factor. */
  stepUp: Date | null;
  /** By a sign-in or a step-up of any kind. */
  any: Date | null;
}

/** The last proofs of a session. */
export async function lastProofs(tx: Tx, uuid: string): Promise<LastProofs> {
  const sql = `select second_factor_at as "secondFactor", greatest(step_up_at, second_factor_at) as "stepUp",
      greatest(auth_time, step_up_at, second_factor_at) as "any"
    from sessions where uuid = $1`;
  return (await tx.query<LastProofs>(sql, [uuid]))[0] ?? { secondFactor: null, stepUp: null, any: null };
}

/** A live session, in what another one inherits that is opened by its token. */
export type LiveSession = Pick<SourceSession, "absoluteEnd" | "providerOrgUuid">;

/**
 * A live session, locked until the transaction ends; undefined when it has ended. Reauthorizes the caller first, so
 * that their membership is locked before a session.
 */
export async function keepLive(tx: Tx, uuid: string | null, at: Date): Promise<LiveSession | undefined> {
  await tx.reauthorize("keep");
  const sql = `select coalesce(refresh_until, expires_at) as "absoluteEnd", provider_org_uuid as "providerOrgUuid"
    from sessions where uuid = $1 and revoked_at is null and expires_at > $2 for share`;
  return (await tx.query<LiveSession>(sql, [uuid, at]))[0];
}

/** A live session another one is derived from. */
export interface SourceSession {
  uuid: string;
  deviceUuid: string;
  amr: string[];
  authTime: Date;
  /** Its end unless it is refreshed. */
  expiresAt: Date;
  /** No refresh goes beyond this. */
  absoluteEnd: Date;
  /** The organization whose identity provider opened it, or one whose token opened it; null for none. */
  providerOrgUuid: string | null;
}

/**
 * Marks a live session as one that others are derived from, row locked until the transaction ends; undefined when it
 * has ended. Reauthorizes the caller first, so that their membership is locked before a session.
 */
export async function takeSource(tx: Tx, uuid: string | null, at: Date): Promise<SourceSession | undefined> {
  await tx.reauthorize();
  const sql = `update sessions set has_derived = true where uuid = $1 and revoked_at is null and expires_at > $2
    returning uuid, device_uuid as "deviceUuid", amr, auth_time as "authTime", expires_at as "expiresAt",
      coalesce(refresh_until, expires_at) as "absoluteEnd", provider_org_uuid as "providerOrgUuid"`;
  return (await tx.query<SourceSession>(sql, [uuid, at]))[0];
}

/** Ends a session; false when it was not live. */
export async function revokeSession(tx: Tx, uuid: string, reason: string, at: Date): Promise<boolean> {
  await tx.reauthorize();
  const rows = await tx.query(
    `update sessions set revoked_at = $2, revoked_reason = $3
     where uuid = $1 and revoked_at is null and expires_at > $2 returning uuid`,
    [uuid, at, reason],
  );
  return rows.length === 1;
}

/** Ends every live session of a person but `spared`. */
export async function revokeSessionsOf(
  tx: Tx,
  userUuid: string,
  reason: string,
  at: Date,
  spared: string | null = null,
): Promise<EndedSessions[]> {
  if (spared !== null) await detach(tx, spared, "o.user_uuid = $2", [userUuid]);
  const where = "user_uuid = $1 and ($4::uuid is null or uuid <> $4)";
  return endTogether(tx, { where, at: "$2", reason: "$3" }, [userUuid, at, reason, spared]);
}

/** A session in the list of its person. */
export interface OwnSessionRow {
  uuid: string;
  deviceUuid: string;
  createdAt: Date;
  lastSeenAt: Date;
  ipAddress: string;
  userAgent: string;
}

/** A page of a person's live sessions, last seen first. */
export function ownSessions(
  database: Database,
  userUuid: string,
  at: Date,
  page: Page,
  paging?: CursorPaging,
): Promise<Listed<OwnSessionRow>> {
  const from = "from sessions where user_uuid = $1 and revoked_at is null and expires_at > $2";
  const id = { sql: "uuid", type: "uuid" } as const;
  const columns = `uuid, device_uuid as "deviceUuid", created_at as "createdAt", last_seen_at as "lastSeenAt",
    ip_address as "ipAddress", user_agent as "userAgent"`;
  const list = { name: "sessions_own", columns, from, params: [userUuid, at], id, q: ["user_agent"] };
  return readList(database, { ...list, sort: SESSION_ORDERS, order: "-last_seen_at" }, page, paging);
}

/** Stores when sessions were last seen, by uuid. Skips locked ones instead of waiting for their transactions. */
export async function touchSessions(database: Database, uses: ReadonlyMap<string, Date>): Promise<void> {
  const sql = `with seen as materialized (
      select s.uuid, used.at from unnest($1::uuid[], $2::timestamptz[]) as used (uuid, at)
      join sessions s on s.uuid = used.uuid where s.last_seen_at < used.at for no key update of s skip locked)
    update sessions s set last_seen_at = seen.at from seen where s.uuid = seen.uuid`;
  await database.prepared("sessions_touch", sql, [[...uses.keys()], [...uses.values()]]);
}

/**
 * Handles up to 1,000 sessions whose `purge_check_at` is before `before`: deletes those that ended before it, with
 * their refresh tokens, and moves `purge_check_at` of the others to their end. Skips locked rows. Returns the number
 * handled.
 */
export async function purgeSessions(database: Database, before: Date): Promise<number> {
  const sql = `with candidate as materialized (
      select uuid, expires_at from sessions where purge_check_at < $1 order by purge_check_at limit 1000
      for update skip locked
    ), deleted as (
      delete from sessions s using candidate c where s.uuid = c.uuid and c.expires_at < $1 returning 1
    ), postponed as (
      update sessions s set purge_check_at = c.expires_at from candidate c
      where s.uuid = c.uuid and c.expires_at >= $1 returning 1
    ) select 1 as one from candidate`;
  return (await database.prepared("sessions_purge", sql, [before])).length;
}

/** What {@link reauthorizeSession} checks. */
export type SessionCheck = readonly [
  sid: string,
  kid: string,
  userUuid: string,
  orgUuid: string | null,
  version: number,
  platformAdmin: boolean,
  superuser: boolean,
  operator: boolean,
  at: Date,
  alone: boolean,
];

/**
 * Checks that everything a person's token depends on is unchanged, and locks it until the transaction ends.
 * @throws {unauthorized} when something has changed
 */
export async function reauthorizeSession(tx: Pick<Tx, "query">, check: SessionCheck): Promise<void> {
  await tx.query("select judge_session($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", check);
}

/** The same for several tokens; takes an array for each member of the checks. */
export const REAUTHORIZE_SESSIONS = `select count(judge_session(c.sid, c.kid, c.person, c.org, c.version,
    c.platform_admin, c.superuser, c.operator, c.at, c.alone))
  from unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::integer[], $6::boolean[], $7::boolean[],
    $8::boolean[], $9::timestamptz[], $10::boolean[])
    as c (sid, kid, person, org, version, platform_admin, superuser, operator, at, alone)`;
