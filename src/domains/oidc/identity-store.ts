import type { Tx } from "../../platform/db/types.ts";

/** The person an identity is linked to. */
export async function personOf(tx: Tx, connectionUuid: string, subject: string): Promise<string | undefined> {
  const sql = "select user_uuid from oidc_identities where connection_uuid = $1 and subject = $2";
  return (await tx.query<{ user_uuid: string }>(sql, [connectionUuid, subject]))[0]?.user_uuid;
}

/** An identity to link to a person. */
export interface NewIdentity {
  connectionUuid: string;
  subject: string;
  userUuid: string;
  /** The person links it themselves, from a session that no identity provider has opened. */
  byPerson: boolean;
  at: Date;
}

/** Links an identity to a person; false when either has a link on the connection already. */
export async function insertIdentity(
  tx: Tx,
  { connectionUuid, subject, userUuid, byPerson, at }: NewIdentity,
): Promise<boolean> {
  const rows = await tx.query(
    `insert into oidc_identities (connection_uuid, subject, user_uuid, by_person, created_at)
     values ($1, $2, $3, $4, $5) on conflict do nothing returning 1 as one`,
    [connectionUuid, subject, userUuid, byPerson, at],
  );
  return rows.length === 1;
}

/** Stores that a person has linked their identity themselves; false when that is known. */
export async function markOwnLink(tx: Tx, connectionUuid: string, subject: string): Promise<boolean> {
  const sql = `update oidc_identities set by_person = true
    where connection_uuid = $1 and subject = $2 and not by_person returning 1 as one`;
  return (await tx.query(sql, [connectionUuid, subject])).length === 1;
}

/** Ends the links of a person; returns those of organizations that live. */
export async function deleteIdentities(
  tx: Tx,
  userUuid: string,
): Promise<{ connectionUuid: string; orgUuid: string }[]> {
  const sql = `with ended as (delete from oidc_identities where user_uuid = $1 returning connection_uuid)
    select c.uuid as "connectionUuid", c.org_uuid as "orgUuid"
    from ended join oidc_connections c on c.uuid = ended.connection_uuid order by c.uuid`;
  return tx.query<{ connectionUuid: string; orgUuid: string }>(sql, [userUuid]);
}

/** What decides whether a verified address links to the person who has it. */
export interface Candidate {
  userUuid: string;
  /** Platform admin, superuser or operator. */
  isPowerful: boolean;
  /** Status of the membership in the connection's organization; null where there never was one. */
  status: string | null;
  isOwner: boolean;
  /** Has a membership, active or not, of another organization. */
  isElsewhere: boolean;
  /** Has another identity linked on the connection. */
  isLinked: boolean;
}

/** The person with an address, locked against a change of their account until the transaction ends. */
export async function candidate(
  tx: Tx,
  emailKey: string,
  { connectionUuid, orgUuid }: { connectionUuid: string; orgUuid: string },
): Promise<Candidate | undefined> {
  const sql = `select p.uuid as "userUuid", p.is_platform_admin or p.is_superuser or p.is_operator as "isPowerful"
    from people p where p.email_key = $1 for no key update`;
  const [person] = await tx.query<Pick<Candidate, "userUuid" | "isPowerful">>(sql, [emailKey]);
  if (person === undefined) return undefined;
  const params = [person.userUuid, orgUuid];
  const [membership] = await tx.query<Pick<Candidate, "status" | "isOwner">>(
    `select status, is_owner as "isOwner" from memberships where user_uuid = $1 and org_uuid = $2 for share`,
    params,
  );
  const [others] = await tx.query<Pick<Candidate, "isElsewhere" | "isLinked">>(
    `select exists (
         select 1 from memberships m join organizations o on o.uuid = m.org_uuid and o.deleted_at is null
         where m.user_uuid = $1 and m.org_uuid <> $2 and m.status <> 'removed') as "isElsewhere",
       exists (select 1 from oidc_identities where connection_uuid = $3 and user_uuid = $1) as "isLinked"`,
    [...params, connectionUuid],
  );
  return {
    ...person,
    ...(membership ?? { status: null, isOwner: false }),
    ...(others ?? { isElsewhere: true, isLinked: true }),
  };
}

/** Stores which identity opened a session, for back-channel logout. */
export function insertSessionOrigin(
  tx: Tx,
  origin: { sessionUuid: string; connectionUuid: string; subject: string; sid: string | null },
): void {
  tx.defer(
    `insert into oidc_sessions (session_uuid, connection_uuid, subject, sid)
     select $1, uuid, $3, $4 from oidc_connections where uuid = $2`,
    [origin.sessionUuid, origin.connectionUuid, origin.subject, origin.sid],
  );
}
