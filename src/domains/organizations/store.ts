import type { Database, Tx } from "../../platform/db/types.ts";
import { foldName } from "../../platform/names.ts";
import { Organization } from "./entities.ts";

/** An organization as other domains see it. */
export interface OrganizationRow {
  uuid: string;
  name: string;
  plan: string;
  /** The plan that a platform admin has set, which stays when a subscription ends; null for none and for `free`. */
  adminPlan: string | null;
  jitDomains: string[];
  sandbox: boolean;
  /** Members other than owners enter by single sign-on alone. */
  ssoRequired: boolean;
  createdAt: Date;
}

const columns = `o.uuid, o.name, o.plan, o.admin_plan as "adminPlan", o.jit_domains as "jitDomains", o.sandbox,
  o.sso_required as "ssoRequired", o.created_at as "createdAt"`;

/** Reserves a folded name forever; false when it is or was in use. */
export async function reserveName(tx: Tx, key: string, name: string, orgUuid: string, at: Date): Promise<boolean> {
  const rows = await tx.query(
    `insert into organization_names (name_key, org_uuid, name, created_at) values ($1, $2, $3, $4)
     on conflict (name_key) do nothing returning name_key`,
    [key, orgUuid, name, at],
  );
  return rows.length === 1;
}

/** Stores a new organization. */
export async function insertOrganization(tx: Tx, uuid: string, name: string, at: Date): Promise<void> {
  tx.em.persist(
    tx.em.create(Organization, {
      uuid,
      name,
      plan: "free",
      jitDomains: [],
      sandbox: false,
      createdAt: at,
      updatedAt: at,
      deletedAt: null,
      version: 1,
    }),
  );
  await tx.em.flush();
}

/** Whether nobody has or had a folded name. */
export async function isNameFree(database: Database, key: string): Promise<boolean> {
  const rows = await database.prepared("orgs_name", "select 1 from organization_names where name_key = $1", [key]);
  return rows.length === 0;
}

/** A live organization. */
export async function findOrganization(database: Database, uuid: string): Promise<OrganizationRow | undefined> {
  const sql = `select ${columns} from organizations o where o.uuid = $1 and o.deleted_at is null`;
  return (await database.prepared<OrganizationRow>("orgs_one", sql, [uuid]))[0];
}

/** The live organization that has a folded name now; undefined for a name that is only reserved. */
export async function findOrganizationByName(database: Database, key: string): Promise<OrganizationRow | undefined> {
  const sql = `select ${columns} from organization_names n
    join organizations o on o.uuid = n.org_uuid and o.deleted_at is null where n.name_key = $1`;
  const [found] = await database.prepared<OrganizationRow>("orgs_by_name", sql, [key]);
  return found !== undefined && foldName(found.name) === key ? found : undefined;
}

/** A live organization, read in a transaction. */
export async function organizationIn(tx: Tx, uuid: string): Promise<OrganizationRow | undefined> {
  const sql = `select ${columns} from organizations o where o.uuid = $1 and o.deleted_at is null`;
  return (await tx.query<OrganizationRow>(sql, [uuid]))[0];
}

/** A live organization, locked against other changes of it and of its memberships until the transaction ends. */
export async function lockOrganization(tx: Tx, uuid: string): Promise<OrganizationRow | undefined> {
  const sql = `select ${columns} from organizations o where o.uuid = $1 and o.deleted_at is null for no key update`;
  return (await tx.query<OrganizationRow>(sql, [uuid]))[0];
}

/** Locks live organizations as {@link lockOrganization} does, in the order of their ids; returns these. */
export async function lockOrganizations(tx: Tx, uuids: readonly string[]): Promise<ReadonlySet<string>> {
  const sql =
    "select uuid from organizations where uuid = any ($1) and deleted_at is null order by uuid for no key update";
  return new Set((await tx.query<{ uuid: string }>(sql, [uuids])).map(({ uuid }) => uuid));
}

/** Whether an organization lives. Its row is share locked, so that it does not end before the transaction does. */
export async function keepOrganization(tx: Tx, uuid: string): Promise<boolean> {
  return (
    (await tx.query("select 1 from organizations where uuid = $1 and deleted_at is null for share", [uuid])).length > 0
  );
}

/** Whether an organization exists or existed. */
export async function existsEver(database: Database, uuid: string): Promise<boolean> {
  return (await database.prepared("orgs_ever", "select 1 from organizations where uuid = $1", [uuid])).length > 0;
}

/** Features of a plan; none for an unknown one. */
export async function featuresOf(database: Database, plan: string): Promise<string[]> {
  const rows = await database.prepared<{ features: string[] }>(
    "orgs_features",
    "select features from plans where plan = $1",
    [plan],
  );
  return rows[0]?.features ?? [];
}

/** Whether the database has any organization. */
export async function anyOrganization(tx: Tx): Promise<boolean> {
  return (await tx.query("select 1 from organizations limit 1")).length > 0;
}

/** Name of an organization that exists or existed. */
export async function nameOf(tx: Pick<Tx, "query">, uuid: string): Promise<string | undefined> {
  const rows = await tx.query<{ name: string }>("select name from organizations where uuid = $1", [uuid]);
  return rows[0]?.name;
}

/** Names of organizations that exist or existed, by uuid. */
export async function namesOf(
  database: Pick<Database, "prepared">,
  uuids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const sql = "select uuid, name from organizations where uuid = any($1::uuid[])";
  const rows = await database.prepared<{ uuid: string; name: string }>("orgs_names", sql, [uuids]);
  return new Map(rows.map((row) => [row.uuid, row.name]));
}

/** Which organization has or had a folded name. */
export async function nameHolder(tx: Tx, key: string): Promise<string | undefined> {
  return (
    await tx.query<{ orgUuid: string }>(`select org_uuid as "orgUuid" from organization_names where name_key = $1`, [
      key,
    ])
  )[0]?.orgUuid;
}

/** Stores what an organization has become. */
export async function updateOrganization(
  tx: Tx,
  { uuid, name, plan, adminPlan, jitDomains, ssoRequired }: OrganizationRow,
  at: Date,
): Promise<void> {
  const sql = `update organizations
    set name = $2, plan = $3, jit_domains = $4, updated_at = $5, sso_required = $6, admin_plan = $7,
      version = version + 1 where uuid = $1`;
  await tx.query(sql, [uuid, name, plan, jitDomains, at, ssoRequired, adminPlan]);
}

/** A plan that has all features of the plan before, and others besides. */
export interface RaisedPlan {
  orgUuid: string;
  plan: string;
  before: string;
}

/**
 * Sets the plans of locked organizations by what each has paid for. A paid plan is lower than one that an admin has set
 * when that one has all its features, and others besides. Returns the plans that were raised, from another than `free`.
 */
export async function updatePaidPlans(
  tx: Tx,
  paid: ReadonlyMap<string, string | undefined>,
  at: Date,
): Promise<RaisedPlan[]> {
  const rows = await tx.query<RaisedPlan & { isRaised: boolean }>(
    `with wanted as (
       select o.uuid, o.plan as before, case
         when p.plan is null then coalesce(o.admin_plan, 'free')
         when a.plan is not null and a.features @> p.features and not p.features @> a.features then a.plan
         else p.plan end as plan
       from unnest($1::uuid[], $2::text[]) as paid (uuid, plan)
       join organizations o on o.uuid = paid.uuid and o.deleted_at is null
       left join plans p on p.plan = paid.plan left join plans a on a.plan = o.admin_plan)
     update organizations set plan = wanted.plan, updated_at = $3, version = version + 1
     from wanted where organizations.uuid = wanted.uuid and organizations.plan <> wanted.plan
     returning organizations.uuid as "orgUuid", wanted.plan, wanted.before, wanted.before <> 'free' and (
       select n.features @> b.features and not b.features @> n.features
       from plans n, plans b where n.plan = wanted.plan and b.plan = wanted.before) as "isRaised"`,
    [[...paid.keys()], [...paid.values()].map((plan) => plan ?? null), at],
  );
  return rows.filter(({ isRaised }) => isRaised);
}

/** Ends an organization; its row and names stay. */
export async function markDeleted(tx: Tx, uuid: string, at: Date): Promise<void> {
  await tx.query("update organizations set deleted_at = $2, updated_at = $2, version = version + 1 where uuid = $1", [
    uuid,
    at,
  ]);
}

/** Whether there is a plan of this name. */
export async function planExists(tx: Tx, plan: string): Promise<boolean> {
  return (await tx.query("select 1 from plans where plan = $1", [plan])).length > 0;
}
