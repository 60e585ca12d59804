import { unknownSort } from "../../platform/cursors.ts";
import type { CursorPaging } from "../../platform/cursors.ts";
import { containing } from "../../platform/db/list.ts";
import { boundedCount, totalOf } from "../../platform/db/total.ts";
import type { Total } from "../../platform/db/total.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { Page } from "../../platform/db/paging.ts";
import { builtInRoles } from "../people/index.ts";

/** A member of an organization. */
export interface MemberRow {
  userUuid: string;
  id: number;
  email: string;
  firstName: string;
  role: string;
  roleId: number;
  isOwner: boolean;
  status: "active" | "inactive";
  createdAt: Date;
  /** Whether a second factor is active. */
  mfaActive: boolean;
  /** Null when never in this organization. */
  lastSeenAt: Date | null;
}

/** Filters of a list of members. */
export interface MemberFilter {
  /** Folded address. */
  emailKey?: string | undefined;
  status?: string | undefined;
  userUuid?: string | undefined;
  roleId?: number | undefined;
  /** Text that the address or the first name contains. */
  q?: string | undefined;
}

const columns = `m.user_uuid as "userUuid", p.id, p.email, p.first_name as "firstName", r.name as role,
  m.role_id as "roleId", m.is_owner as "isOwner", m.status, m.created_at as "createdAt",
  exists (select from mfa_factors f where f.user_uuid = m.user_uuid and f.status = 'active') as "mfaActive",
  (select max(s.last_seen_at) from sessions s where s.user_uuid = m.user_uuid and s.org_uuid = m.org_uuid)
    as "lastSeenAt"`;
const joined = "join people p on p.uuid = m.user_uuid join roles r on r.id = m.role_id";

/** An order of members as SQL, and the condition for those after a position, whose value and id are SQL too. */
interface Order {
  by: string;
  after: (value: string, id: string) => string;
}

/** Orders of a list of members; the index of each gives the page, whatever the organization's size. */
const ORDERS: Readonly<Record<string, Order>> = {
  // An address is of one person.
  email: { by: "email_key", after: (value) => `email_key > ${value}` },
  "-email": { by: "email_key desc", after: (value) => `email_key < ${value}` },
  // The first comparison is what the index takes.
  created_at: {
    by: "created_at, user_uuid desc",
    after: (value, id) => `created_at >= ${value} and (created_at > ${value} or user_uuid < ${id})`,
  },
  "-created_at": {
    by: "created_at desc, user_uuid",
    after: (value, id) => `created_at <= ${value} and (created_at < ${value} or user_uuid > ${id})`,
  },
};

/**
 * A page of an organization's members, by default by email. With a cursor it begins after the member whom the cursor
 * stands for.
 * @throws {validation_error} when there is no such order
 */
export async function membersOf(
  database: Database,
  orgUuid: string,
  filter: MemberFilter,
  { limit, offset, sort = "email" }: Page,
  paging?: CursorPaging,
): Promise<{ data: MemberRow[]; nextCursor?: string }> {
  const order = ORDERS[sort];
  if (order === undefined) throw unknownSort(["email", "created_at"]);
  const { where, params, shape } = narrowed(orgUuid, filter);
  const bind = (value: unknown, type = ""): string => `$${params.push(value)}${type}`;
  const byTime = order.by.startsWith("created_at");
  let after = "";
  if (paging?.position !== undefined) {
    const { value, id } = paging.position;
    after = `and ${order.after(bind(value, byTime ? "::timestamptz" : ""), byTime ? bind(id, "::uuid") : "")}`;
  }
  const window = paging === undefined ? `limit ${bind(limit)} offset ${bind(offset)}` : `limit ${bind(limit + 1)}`;
  const sql = `select ${columns}, m.email_key as "emailKey",
      m.created_at::text as "createdAtText" from (
      select * from memberships x where ${where} ${after} order by ${order.by} ${window}) m
    ${joined} order by ${order.by.replaceAll(/\b(email_key|created_at|user_uuid)\b/gu, "m.$1")}`;
  const name = `access_members_${shape}_${sort}${paging === undefined ? "" : "_cursor"}${after === "" ? "" : "_after"}`;
  const rows = await database.prepared<MemberRow & { emailKey: string; createdAtText: string }>(name, sql, params);
  const data = rows.slice(0, limit);
  const last = data.at(-1);
  if (paging === undefined || last === undefined || rows.length <= limit) return { data };
  // Times have microseconds, which a Date has not.
  const value = byTime ? last.createdAtText : last.emailKey;
  return { data, nextCursor: paging.next({ value, id: last.userUuid }) };
}

/** How many members match a filter: read from the stored counts where it is by status alone, otherwise counted. */
export async function countMembers(database: Database, orgUuid: string, filter: MemberFilter): Promise<Total> {
  const { status, ...others } = filter;
  if (Object.values(others).some((value) => value !== undefined)) {
    const { where, params, shape } = narrowed(orgUuid, filter);
    const sql = boundedCount(`from memberships x where ${where}`);
    return totalOf(await database.prepared<{ counted: number }>(`access_members_count_${shape}`, sql, params));
  }
  const sql = "select active, inactive from membership_counts where org_uuid = $1";
  const [counts] = await database.prepared<{ active: number; inactive: number }>("access_members_counts", sql, [
    orgUuid,
  ]);
  if (counts === undefined) return { total: 0 };
  if (status !== undefined) return { total: status === "active" ? counts.active : counts.inactive };
  return { total: counts.active + counts.inactive };
}

function narrowed(orgUuid: string, { emailKey, status, userUuid, roleId, q }: MemberFilter) {
  const params: unknown[] = [orgUuid];
  // The first condition is that of the indexes, whatever the status.
  const clauses = ["org_uuid = $1", "status <> 'removed'"];
  if (status !== undefined) clauses.push(`status = $${params.push(status)}`);
  if (emailKey !== undefined) clauses.push(`email_key = $${params.push(emailKey)}`);
  if (userUuid !== undefined) clauses.push(`user_uuid = $${params.push(userUuid)}`);
  if (roleId !== undefined) clauses.push(`role_id = $${params.push(roleId)}::bigint`);
  if (q !== undefined) {
    const param = `$${params.push(q)}`;
    clauses.push(`(${containing(["email_key"], param)}
      or exists (select from people p where p.uuid = x.user_uuid and ${containing(["p.first_name"], param)}))`);
  }
  return {
    where: clauses.join(" and "),
    params,
    shape: [status, emailKey, userUuid, roleId, q].map((value) => (value === undefined ? 0 : 1)).join(""),
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

/** Whether an organization has an active owner. */
export async function hasOwner(tx: Tx, orgUuid: string): Promise<boolean> {
  const sql = "select 1 from memberships where org_uuid = $1 and is_owner and status = 'active' limit 1";
  return (await tx.query(sql, [orgUuid])).length > 0;
}

/**
 * Who is to own an organization without an owner: the active member with the role admin who joined first, else the
 * active member who joined first.
 */
export async function successorIn(tx: Tx, orgUuid: string): Promise<string | undefined> {
  const sql = `select user_uuid as "userUuid" from memberships where org_uuid = $1 and status = 'active'
    order by role_id <> $2, created_at, user_uuid limit 1`;
  return (await tx.query<{ userUuid: string }>(sql, [orgUuid, builtInRoles.admin]))[0]?.userUuid;
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
