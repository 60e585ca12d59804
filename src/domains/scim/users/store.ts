import type { Database, Tx } from "../../../platform/db/types.ts";
import { selectList } from "../lists/columns.ts";
import type { Resource } from "../resource/values.ts";

/** What responses contain of a user. */
export interface ListedUser {
  userUuid: string;
  active: boolean;
  /** Attributes as they are returned, without those the service adds. */
  data: Resource;
  version: number;
  createdAt: Date;
  updatedAt: Date;
  groups: { value: string; display: string }[];
}

/** A user as SCIM changes them. */
export interface UserRow extends ListedUser {
  /** Known elsewhere, and has not accepted yet. */
  invited: boolean;
  /** An invited user is to be a member once they accept. */
  wanted: boolean;
}

/** Maximum number of groups that a user shows. */
const MAX_GROUPS = 1_000;

/** Columns of a {@link ListedUser} without groups, of `scim_users u`, by their properties. */
export const USER_COLUMNS_WITHOUT_GROUPS = {
  userUuid: "u.user_uuid",
  active: "u.active",
  data: "u.data",
  version: "u.version",
  createdAt: "u.created_at",
  updatedAt: "u.updated_at",
  groups: "'[]'::jsonb",
} as const satisfies Record<keyof ListedUser, string>;

const membershipsOf = (columns: string, rest = "") => `select ${columns} from scim_members m
  where m.org_uuid = u.org_uuid and m.user_uuid = u.user_uuid ${rest} limit ${MAX_GROUPS}`;

/** Columns of a {@link ListedUser}, of `scim_users u`, by their properties. */
export const LISTED_USER_COLUMNS = {
  ...USER_COLUMNS_WITHOUT_GROUPS,
  groups: `coalesce((
    select jsonb_agg(jsonb_build_object('value', s.group_uuid, 'display', s.data->>'displayName') order by s.group_uuid)
    from (${membershipsOf("m.group_uuid", "order by 1")}) m join scim_groups s on s.group_uuid = m.group_uuid), '[]')`,
} as const satisfies Record<keyof ListedUser, string>;

const USER_COLUMNS = `${selectList(LISTED_USER_COLUMNS)}, u.invited, u.wanted`;

/** About what a group of a user takes in a response, bytes. */
const GROUP_SIZE = 256;

/** Size of a {@link ListedUser} without groups, bytes. Only of what is stored compressed is the text made for it. */
export const SIZE_WITHOUT_GROUPS = `case when pg_column_compression(u.data) is null then pg_column_size(u.data)
  else octet_length(u.data::text) end`;

/** Size of a {@link ListedUser}, bytes. The groups are counted, and read for no user whom the page does not have. */
export const USER_SIZE = `${SIZE_WITHOUT_GROUPS}
  + ${GROUP_SIZE} * (select count(*) from (${membershipsOf("1 as one")}) m)`;

/** A user to store. */
export interface NewUser {
  userUuid: string;
  userName: string;
  externalId: string | null;
  active: boolean;
  invited: boolean;
  wanted: boolean;
  data: Resource;
  folded: Resource;
}

/** A user of an organization. */
export async function findUser(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  userUuid: string,
): Promise<UserRow | undefined> {
  const sql = `select ${USER_COLUMNS} from scim_users u where u.org_uuid = $1 and u.user_uuid = $2`;
  return (await database.prepared<UserRow>("scim_user", sql, [orgUuid, userUuid]))[0];
}

/** A user of an organization, read in a transaction. */
export async function userIn(tx: Tx, orgUuid: string, userUuid: string): Promise<UserRow | undefined> {
  const sql = `select ${USER_COLUMNS} from scim_users u where u.org_uuid = $1 and u.user_uuid = $2`;
  return (await tx.query<UserRow>(sql, [orgUuid, userUuid]))[0];
}

/** Stores users of an organization. With `made`, also records that SCIM of the organization made these people. */
export async function insertUsers(
  tx: Tx,
  orgUuid: string,
  users: readonly NewUser[],
  at: Date,
  { made = false } = {},
): Promise<void> {
  const all = <T>(member: (user: NewUser) => T): T[] => users.map(member);
  const record = "with made as (insert into scim_people (user_uuid, org_uuid) select unnest($2::uuid[]), $1)";
  await tx.query(
    `${made ? record : ""}
     insert into scim_users (org_uuid, user_uuid, user_name, external_id, active, invited, wanted, managed, data,
       folded, created_at, updated_at)
     select $1, user_uuid, user_name, external_id, active, invited, wanted, true, data, folded, $10, $10
     from unnest($2::uuid[], $3::text[], $4::text[], $5::boolean[], $6::boolean[], $7::boolean[], $8::jsonb[],
       $9::jsonb[]) as n (user_uuid, user_name, external_id, active, invited, wanted, data, folded)`,
    [
      orgUuid,
      all(({ userUuid }) => userUuid),
      all(({ userName }) => userName),
      all(({ externalId }) => externalId),
      all(({ active }) => active),
      all(({ invited }) => invited),
      all(({ wanted }) => wanted),
      all(({ data }) => JSON.stringify(data)),
      all(({ folded }) => JSON.stringify(folded)),
      at,
    ],
  );
}

/** Changes attributes of a user, and whether an invited one is wanted. */
export async function updateUser(
  tx: Tx,
  user: Omit<NewUser, "active" | "invited"> & { orgUuid: string; at: Date },
): Promise<void> {
  await tx.query(
    `update scim_users set user_name = $3, external_id = $4, wanted = $5, managed = true, data = $6, folded = $7,
       version = version + 1, updated_at = $8
     where org_uuid = $1 and user_uuid = $2`,
    [
      user.orgUuid,
      user.userUuid,
      user.userName,
      user.externalId,
      user.wanted,
      JSON.stringify(user.data),
      JSON.stringify(user.folded),
      user.at,
    ],
  );
}

/** Removes an invited user, and them from their groups. */
export async function deleteUser(tx: Tx, orgUuid: string, userUuid: string, at: Date): Promise<void> {
  await tx.query("select scim_left($1, $2, $3)", [orgUuid, userUuid, at]);
}

/** A person with an address, and what SCIM of an organization may do with them. */
export interface KnownPerson {
  userUuid: string;
  email: string;
  /** A member of the organization, active or not. */
  member: boolean;
  /**
   * SCIM of this organization made them, and they have neither another membership nor a password nor a proven mail
   * (decisions 8.8).
   */
  own: boolean;
}

const knownPerson = (where: string) => `
  select p.uuid as "userUuid", p.email,
    exists (select from memberships m
      where m.org_uuid = $1 and m.user_uuid = p.uuid and m.status <> 'removed') as member,
    p.password_hash is null and p.email_confirmed_at is null and p.mailbox_proven_at is null
      and exists (select from scim_people s where s.user_uuid = p.uuid and s.org_uuid = $1)
      and not exists (select from memberships m
        join organizations o on o.uuid = m.org_uuid and o.deleted_at is null
        where m.user_uuid = p.uuid and m.org_uuid <> $1 and m.status <> 'removed') as own
  from people p where ${where}`;

/** The person with an address. */
export async function personByEmail(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  emailKey: string,
): Promise<KnownPerson | undefined> {
  const rows = await database.prepared<KnownPerson>("scim_person", knownPerson("p.email_key = $2"), [
    orgUuid,
    emailKey,
  ]);
  return rows[0];
}

/** Which of these addresses somebody has. */
export async function addressesInUse(
  database: Pick<Database, "prepared">,
  emailKeys: readonly string[],
): Promise<ReadonlySet<string>> {
  const sql = "select email_key from people where email_key = any($1)";
  const rows = await database.prepared<{ email_key: string }>("scim_people", sql, [emailKeys]);
  return new Set(rows.map(({ email_key }) => email_key));
}

/** The person with an address, read in a transaction. */
export async function personByEmailIn(tx: Tx, orgUuid: string, emailKey: string): Promise<KnownPerson | undefined> {
  return (await tx.query<KnownPerson>(knownPerson("p.email_key = $2"), [orgUuid, emailKey]))[0];
}

/** A person, read in a transaction. */
export async function personIn(tx: Tx, orgUuid: string, userUuid: string): Promise<KnownPerson | undefined> {
  return (await tx.query<KnownPerson>(knownPerson("p.uuid = $2"), [orgUuid, userUuid]))[0];
}

/** Number of users of an organization: members by their stored counts, and invited people. */
export async function countUsers(tx: Tx, orgUuid: string): Promise<number> {
  const sql = `select coalesce((select active + inactive from membership_counts where org_uuid = $1), 0)
    + (select count(*) from scim_users where org_uuid = $1 and invited)::int as total`;
  return (await tx.query<{ total: number }>(sql, [orgUuid]))[0]?.total ?? 0;
}
