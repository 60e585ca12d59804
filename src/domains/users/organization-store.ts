import type { Database } from "../../platform/db/types.ts";

/** An organization as one of its members sees it. */
export interface MembershipRow {
  orgUuid: string;
  name: string;
  role: string;
  roleId: number;
  isOwner: boolean;
  status: string;
  createdAt: Date;
}

/** The organizations somebody is a member of, active or not, by name. */
export function organizationsOf(database: Database, userUuid: string): Promise<MembershipRow[]> {
  const sql = `
    select o.uuid as "orgUuid", o.name, r.name as role, m.role_id as "roleId", m.is_owner as "isOwner", m.status,
      m.created_at as "createdAt"
    from memberships m join organizations o on o.uuid = m.org_uuid join roles r on r.id = m.role_id
    where m.user_uuid = $1 and m.status <> 'removed' and o.deleted_at is null order by o.name, o.uuid`;
  return database.prepared<MembershipRow>("access_organizations", sql, [userUuid]);
}

/** The organization of a credential, which has the role of this name there. */
export function organizationOfCredential(database: Database, orgUuid: string, role: string): Promise<MembershipRow[]> {
  const sql = `
    select o.uuid as "orgUuid", o.name, coalesce(r.name, '') as role, coalesce(r.id, 0) as "roleId",
      false as "isOwner", 'active' as status, o.created_at as "createdAt"
    from organizations o left join roles r on (r.org_uuid is null or r.org_uuid = o.uuid) and lower(r.name) = lower($2)
    where o.uuid = $1 and o.deleted_at is null`;
  return database.prepared<MembershipRow>("access_organization", sql, [orgUuid, role]);
}
