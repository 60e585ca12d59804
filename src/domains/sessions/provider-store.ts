import type { Tx } from "../../platform/db/types.ts";

/** The identity at a provider that opened a session. */
export interface SessionIdentity {
  /** Organization of the provider; null where the link of an older session has ended. */
  orgUuid: string | null;
  /** Its person linked it themselves, and the link has not ended. */
  byPerson: boolean;
}

/** A session and those it is derived from. */
const LINE = `with recursive line as (
      select uuid, source_uuid from sessions where uuid = $1
      union select s.uuid, s.source_uuid from line join sessions s on s.uuid = line.source_uuid
    )`;

/** The identity that opened a session or one it is derived from. */
export async function identityOf(tx: Tx, uuid: string): Promise<SessionIdentity> {
  const sql = `${LINE}, linked as (
      select c.org_uuid, i.by_person
      from line join oidc_sessions o on o.session_uuid = line.uuid
        join oidc_connections c on c.uuid = o.connection_uuid
        join oidc_identities i on i.connection_uuid = o.connection_uuid and i.subject = o.subject limit 1
    )
    select coalesce(linked.org_uuid, s.provider_org_uuid) as "orgUuid", coalesce(linked.by_person, false) as "byPerson"
    from sessions s left join linked on true where s.uuid = $1`;
  return (await tx.query<SessionIdentity>(sql, [uuid]))[0] ?? { orgUuid: null, byPerson: false };
}

/** Stores the identity that opened a session as that of another one, which has been opened by its token. */
export function keepIdentity(tx: Tx, from: string, to: string): void {
  const sql = `insert into oidc_sessions (session_uuid, connection_uuid, subject, sid) ${LINE}
    select $2, o.connection_uuid, o.subject, o.sid
    from line join oidc_sessions o on o.session_uuid = line.uuid limit 1`;
  tx.defer(sql, [from, to]);
}
