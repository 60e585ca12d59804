import { byText, createdAt, readList } from "../../platform/db/list.ts";
import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Database, Tx } from "../../platform/db/types.ts";

/** State of an invitation. */
export type InvitationStatus = "pending" | "accepted" | "expired" | "withdrawn" | "replaced";

/** An invitation, never its token. */
export interface InvitationRow {
  uuid: string;
  orgUuid: string;
  orgName: string;
  email: string;
  emailKey: string;
  roleId: number;
  role: string;
  invitedBy: string | null;
  status: InvitationStatus;
  createdAt: Date;
  expiresAt: Date;
}

/** An invitation to store; of the token only its hash. */
export interface NewInvitation {
  uuid: string;
  tokenHash: Buffer;
  orgUuid: string;
  email: string;
  emailKey: string;
  roleId: number;
  /** A person, a service identity, or an API key, whose maker counts as the sender. */
  invitedBy: { person: string | null; key: string | null; identity?: string | null };
  /** Sent by the organization's directory, not on a person's power. */
  byScim?: boolean;
  at: Date;
  expiresAt: Date;
}

/** Columns of an {@link InvitationRow} at the time `$1`; `open` is SQL for the status of an open invitation. */
const columns = (open: string) => `i.uuid, i.org_uuid as "orgUuid", o.name as "orgName", i.email,
    i.email_key as "emailKey", i.role_id as "roleId", r.name as role, i.invited_by as "invitedBy",
    case when i.accepted_at is not null then 'accepted' when i.ended_at is not null then i.ended_as
      when i.expires_at <= $1 then 'expired' else ${open} end as status,
    i.created_at as "createdAt", i.expires_at as "expiresAt"`;
const COLUMNS = columns("'pending'");
const FROM = `from invitations i join organizations o on o.uuid = i.org_uuid join roles r on r.id = i.role_id`;
const SELECT_INVITATION = `select ${COLUMNS} ${FROM}`;

/** Whether a membership `m` of a person `p` can grant the role of an invitation `i`. */
const GRANTED_BY_MEMBER = `m.status = 'active' and (m.is_owner or m.role_id = 1 or (p.is_platform_admin and not exists (
    select 1 from role_permissions rp join permissions n on n.id = rp.permission_id
    where rp.role_id = i.role_id and n.name = 'vault:write')))`;
/** Whether a service identity `s` can grant every role. */
const GRANTED_BY_IDENTITY = "s.role_id = 1";
/** Whether the directory sent an invitation `i`: it grants the role of employees. */
const GRANTED_BY_SCIM = "i.by_scim and i.role_id = 3";
/** What {@link isGrantable} finds, without locks. */
const GRANTABLE = `coalesce(
    (select ${GRANTED_BY_MEMBER} from memberships m join people p on p.uuid = m.user_uuid
     where m.org_uuid = i.org_uuid and m.user_uuid = i.sender),
    (select ${GRANTED_BY_IDENTITY} from service_identities s
     where s.identity_id = i.sender_identity and s.deleted_at is null),
    ${GRANTED_BY_SCIM})`;

/** As lists show them: while the sender of an invitation could not grant its role, nobody can accept it. */
const LISTED_COLUMNS = columns(`case when ${GRANTABLE} then 'pending' else 'withdrawn' end`);

/** Stores an invitation and replaces the open one of the same address. The organization must be locked. */
export async function replaceInvitation(tx: Tx, invitation: NewInvitation): Promise<void> {
  const { uuid, tokenHash, orgUuid, email, emailKey, roleId, invitedBy, byScim = false, at, expiresAt } = invitation;
  await tx.query(
    `update invitations set ended_at = $3, ended_as = 'replaced'
     where org_uuid = $1 and email_key = $2 and accepted_at is null and ended_at is null`,
    [orgUuid, emailKey, at],
  );
  await tx.query(
    `insert into invitations
       (uuid, token_hash, org_uuid, email, email_key, role_id, invited_by, created_at, expires_at, sender, by_scim,
        sender_identity)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, coalesce($7, (select made_by from api_keys where key_id = $10)), $11,
       coalesce($12, (select made_by_identity from api_keys where key_id = $10)))`,
    [
      uuid,
      tokenHash,
      orgUuid,
      email,
      emailKey,
      roleId,
      invitedBy.person,
      at,
      expiresAt,
      invitedBy.key,
      byScim,
      invitedBy.identity ?? null,
    ],
  );
}

/** A page of an organization's invitations, by default newest first. */
export function invitationsOf(
  database: Database,
  orgUuid: string,
  at: Date,
  page: Page,
): Promise<Listed<InvitationRow>> {
  // The time is a parameter of the columns alone; the count needs it named too.
  const from = `${FROM} where i.org_uuid = $2 and $1::timestamptz is not null`;
  const sort = { created_at: createdAt("i."), email: byText("i.email") };
  const id = { sql: "i.uuid", type: "uuid" } as const;
  const list = { name: "invitations", columns: LISTED_COLUMNS, from, params: [at, orgUuid], id, q: ["i.email"], sort };
  return readList(database, { ...list, order: "-created_at" }, page);
}

/**
 * The invitation behind a token, in any state, and whether its sender could grant its role now; undefined when its
 * organization was deleted.
 */
export async function invitationByToken(
  database: Database,
  tokenHash: Buffer,
  at: Date,
): Promise<(InvitationRow & { isGrantable: boolean }) | undefined> {
  const sql = `select ${COLUMNS}, ${GRANTABLE} as "isGrantable" ${FROM}
    where i.token_hash = $2 and o.deleted_at is null`;
  const rows = await database.prepared<InvitationRow & { isGrantable: boolean }>("invitation_by_token", sql, [
    at,
    tokenHash,
  ]);
  return rows[0];
}

/** Marks an invitation as accepted: one of several concurrent transactions succeeds. Undefined when it is not open. */
export async function useInvitation(tx: Tx, uuid: string, at: Date): Promise<InvitationRow | undefined> {
  const used = await tx.query(
    `update invitations set accepted_at = $2
     where uuid = $1 and accepted_at is null and ended_at is null and expires_at > $2 returning uuid`,
    [uuid, at],
  );
  return used.length === 0 ? undefined : invitationIn(tx, uuid, at);
}

/**
 * Whether the sender of an invitation could still grant its role (decisions 2.6); if so, their membership is locked
 * until the transaction ends. Members with the role admin can grant every role; a platform admin who is a member, every
 * role without `vault:write`; service identities with the role admin every role.
 */
export async function isGrantable(tx: Tx, uuid: string): Promise<boolean> {
  const rows = await tx.query<{ granted: boolean }>(
    `select ${GRANTED_BY_MEMBER} as granted
     from invitations i join memberships m on m.org_uuid = i.org_uuid and m.user_uuid = i.sender
       join people p on p.uuid = m.user_uuid
     where i.uuid = $1 for share of m`,
    [uuid],
  );
  if (rows[0] !== undefined) return rows[0].granted;
  const byIdentity = `select ${GRANTED_BY_IDENTITY} as granted from invitations i
    join service_identities s on s.identity_id = i.sender_identity and s.deleted_at is null
    where i.uuid = $1 for share of s`;
  const [identity] = await tx.query<{ granted: boolean }>(byIdentity, [uuid]);
  if (identity !== undefined) return identity.granted;
  // The directory grants the role of employees, and withdraws its invitations itself.
  const byScim = `select 1 from invitations i where uuid = $1 and ${GRANTED_BY_SCIM}`;
  return (await tx.query(byScim, [uuid])).length > 0;
}

/** Withdraws the open invitation the directory sent to an address; returns its id. */
export async function withdrawInvitationOf(
  tx: Tx,
  orgUuid: string,
  emailKey: string,
  at: Date,
): Promise<string | undefined> {
  const rows = await tx.query<{ uuid: string }>(
    `update invitations set ended_at = $3, ended_as = 'withdrawn'
     where org_uuid = $1 and email_key = $2 and by_scim and accepted_at is null and ended_at is null
     returning uuid`,
    [orgUuid, emailKey, at],
  );
  return rows[0]?.uuid;
}

/** Whether an address has an open invitation. */
export async function hasOpenInvitation(tx: Tx, orgUuid: string, emailKey: string, at: Date): Promise<boolean> {
  const sql = `select 1 from invitations where org_uuid = $1 and email_key = $2
    and accepted_at is null and ended_at is null and expires_at > $3`;
  return (await tx.query(sql, [orgUuid, emailKey, at])).length > 0;
}

/** Withdraws the open invitations a person sent in an organization; returns how many. */
export async function withdrawInvitationsOf(tx: Tx, orgUuid: string, userUuid: string, at: Date): Promise<number> {
  const rows = await tx.query(
    `update invitations set ended_at = $3, ended_as = 'withdrawn'
     where org_uuid = $1 and sender = $2 and accepted_at is null and ended_at is null returning 1 as one`,
    [orgUuid, userUuid, at],
  );
  return rows.length;
}

/** Withdraws the open invitation of a person's address in an organization; undefined when there is none. */
export async function withdrawInvitationTo(
  tx: Tx,
  orgUuid: string,
  userUuid: string,
  at: Date,
): Promise<Pick<InvitationRow, "uuid" | "email"> | undefined> {
  const rows = await tx.query<Pick<InvitationRow, "uuid" | "email">>(
    `update invitations set ended_at = $3, ended_as = 'withdrawn'
     where org_uuid = $1 and email_key = (select email_key from people where uuid = $2)
       and accepted_at is null and ended_at is null returning uuid, email`,
    [orgUuid, userUuid, at],
  );
  return rows[0];
}

/** Withdraws every open invitation of an organization; returns how many. */
export async function withdrawOpenInvitations(tx: Tx, orgUuid: string, at: Date): Promise<number> {
  const rows = await tx.query(
    `update invitations set ended_at = $2, ended_as = 'withdrawn'
     where org_uuid = $1 and accepted_at is null and ended_at is null returning 1 as one`,
    [orgUuid, at],
  );
  return rows.length;
}

/** An invitation of an organization that is not deleted; with the clause `lock`, locked until the transaction ends. */
export async function invitationIn(
  tx: Tx,
  uuid: string,
  at: Date,
  lock: "" | "for update of i" = "",
): Promise<InvitationRow | undefined> {
  return (
    await tx.query<InvitationRow>(`${SELECT_INVITATION} where i.uuid = $2 and o.deleted_at is null ${lock}`, [at, uuid])
  )[0];
}

/** Withdraws an open invitation; returns its address, undefined when there is none. */
export async function withdrawInvitation(tx: Tx, orgUuid: string, uuid: string, at: Date): Promise<string | undefined> {
  const rows = await tx.query<{ email: string }>(
    `update invitations set ended_at = $3, ended_as = 'withdrawn'
     where uuid = $2 and org_uuid = $1 and accepted_at is null and ended_at is null returning email`,
    [orgUuid, uuid, at],
  );
  return rows[0]?.email;
}

/** Deletes up to 1,000 invitations, accepted ones included, that expired before a time; returns how many. */
export async function deleteExpiredInvitations(database: Pick<Database, "prepared">, before: Date): Promise<number> {
  const sql = `delete from invitations where uuid = any(array(
    select uuid from invitations where expires_at < $1 order by expires_at limit 1000 for update skip locked))
    returning 1 as one`;
  return (await database.prepared("invitations_delete_expired", sql, [before])).length;
}
