import type { Database, Tx } from "../../platform/db/types.ts";
import type { Page } from "../../platform/db/paging.ts";

/** A member of an organization. */
export interface MemberRow {
  user_uuid: string;
  id: number;
  email: string;
  first_name: string;
  role: string;
  role_id: number;
  is_owner: boolean;
  status: "active" | "inactive";
  created_at: Date;
}

/** Filters of a list of members. */
export interface MemberFilter {
  /** Folded address. */
  emailKey?: string | undefined;
  status?: string | undefined;
}

const columns =
  "m.user_uuid, p.id, p.email, p.first_name, r.name as role, m.role_id, m.is_owner, m.status, m.created_at";
const joined = "join people p on p.uuid = m.user_uuid join roles r on r.id = m.role_id";

/**
 * A page of an organization's members by email: one index gives the page in its order, whatever the organization's
 * size.
 */
export function membersOf(
  database: Database,
  orgUuid: string,
  filter: MemberFilter,
  { limit, offset }: Page,
): Promise<MemberRow[]> {
  const { where, params, shape } = narrowed(orgUuid, filter);
  const [limitAt, offsetAt] = [params.length + 1, params.length + 2];
  const sql = `select ${columns} from (
      select * from memberships where ${where} order by email_key limit $${limitAt} offset $${offsetAt}) m
    ${joined} order by m.email_key`;
  return database.prepared<MemberRow>(`access_members_${shape}`, sql, [...params, limit, offset]);
}

/** How many members match a filter: counted by email, otherwise read from the stored counts. */
export async function countMembers(database: Database, orgUuid: string, filter: MemberFilter): Promise<number> {
  if (filter.emailKey !== undefined) {
    const { where, params, shape } = narrowed(orgUuid, filter);
    return (
      (
        await database.prepared<{ n: number }>(
          `access_members_count_${shape}`,
          `select count(*)::int as n from memberships where ${where}`,
          params,
        )
      )[0]?.n ?? 0
    );
  }
  const sql = "select active, inactive from membership_counts where org_uuid = $1";
  const [counts] = await database.prepared<{ active: number; inactive: number }>("access_members_counts", sql, [
    orgUuid,
  ]);
  if (counts === undefined) return 0;
  if (filter.status !== undefined) return filter.status === "active" ? counts.active : counts.inactive;
  return counts.active + counts.inactive;
}

function narrowed(orgUuid: string, { emailKey, status }: MemberFilter) {
  const params: unknown[] = [orgUuid];
  const clauses = ["org_uuid = $1"];
  clauses.push(status === undefined ? "status <> 'removed'" : `status = $${params.push(status)}`);
  if (emailKey !== undefined) clauses.push(`email_key = $${params.push(emailKey)}`);
  return {
    where: clauses.join(" and "),
    params,
    shape: `${status === undefined ? 0 : 1}${emailKey === undefined ? 0 : 1}`,
  };
}

/** A member, active or not, read in a transaction; undefined for anybody else. */
export async function memberIn(tx: Tx, orgUuid: string, userUuid: string): Promise<MemberRow | undefined> {
  const sql = `select ${columns} from memberships m ${joined}
    where m.org_uuid = $1 and m.user_uuid = $2 and m.status <> 'removed'`;
  return (await tx.query<MemberRow>(sql, [orgUuid, userUuid]))[0];
}

/** How many active owners an organization has besides one person. */
export async function otherOwners(tx: Tx, orgUuid: string, userUuid: string): Promise<number> {
  const sql = `select count(*)::int as n from memberships
    where org_uuid = $1 and user_uuid <> $2 and is_owner and status = 'active'`;
  return (await tx.query<{ n: number }>(sql, [orgUuid, userUuid]))[0]?.n ?? 0;
}

/** What a membership becomes. */
export interface MembershipState {
  roleId: number;
  isOwner: boolean;
  status: "active" | "inactive" | "removed";
}

/** Changes a membership; its version rises, so that tokens issued before are refused. */
export async function changeMembership(
  tx: Tx,
  orgUuid: string,
  userUuid: string,
  { roleId, isOwner, status }: MembershipState,
  at: Date,
): Promise<void> {
  await tx.reauthorize();
  await tx.query(
    `update memberships set role_id = $3, is_owner = $4, status = $5, version = version + 1, updated_at = $6
     where org_uuid = $1 and user_uuid = $2`,
    [orgUuid, userUuid, roleId, isOwner, status, at],
  );
}
