import { byText, createdAt, readList } from "../../platform/db/list.ts";
import type { Listed } from "../../platform/db/list.ts";
import { violatedConstraint } from "../../platform/db/failure.ts";
import type { Page } from "../../platform/db/paging.ts";
import { updateInBatches } from "../../platform/db/batched-updates.ts";
import { MAX_EXACT } from "../../platform/db/total.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { lockCredentials } from "../credentials/index.ts";

/** A service identity. */
export interface IdentityRow {
  identityId: string;
  name: string;
  description: string | null;
  roleId: number;
  createdAt: Date;
  lastAuthAt: Date | null;
  /** SVIDs that are neither revoked nor expired. */
  svidCount: number;
}

/** An identity to store. */
export type NewIdentity = Omit<IdentityRow, "lastAuthAt" | "svidCount">;

const columns = (at: string): string => `i.identity_id as "identityId", i.name, i.description, i.role_id as "roleId",
  i.created_at as "createdAt", i.last_auth_at as "lastAuthAt",
  (select count(*)::int from (
    select 1 from svids s where s.identity_id = i.identity_id and s.revoked_at is null and s.not_after > ${at}
    limit ${MAX_EXACT}) as active) as "svidCount"`;

/**
 * Stores an identity; false when a living one of the organization has its name. Reauthorizes the caller first: whoever
 * changes a name has locked their membership before the index makes them wait for another who takes the same one.
 */
export async function insertIdentity(tx: Tx, orgUuid: string, identity: NewIdentity): Promise<boolean> {
  const { identityId, name, description, roleId, createdAt } = identity;
  await tx.reauthorize("keep");
  const rows = await tx.query(
    `insert into service_identities (identity_id, org_uuid, name, description, role_id, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $6) on conflict (org_uuid, name) where deleted_at is null do nothing
     returning 1 as one`,
    [identityId, orgUuid, name, description, roleId, createdAt],
  );
  return rows.length > 0;
}

/** Living identities of an organization, newest first. */
export function identitiesOf(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  at: Date,
  page: Page,
): Promise<Listed<IdentityRow>> {
  // The time is a parameter of the columns alone; the count needs it named too.
  const from =
    "from service_identities i where i.org_uuid = $1 and i.deleted_at is null and $2::timestamptz is not null";
  const sort = { created_at: createdAt("i."), name: byText("i.name") };
  const id = { sql: "i.identity_id", type: "uuid" } as const;
  const q = ["i.name", "coalesce(i.description, '')"];
  const list = { name: "service-identities", columns: columns("$2"), from, params: [orgUuid, at], id, q, sort };
  return readList(database, { ...list, order: "-created_at" }, page);
}

const one = `select ${columns("$3")} from service_identities i
  where i.org_uuid = $1 and i.identity_id = $2 and i.deleted_at is null`;

/** A living identity of an organization. */
export async function findIdentity(
  database: Pick<Database, "prepared">,
  orgUuid: string,
  identityId: string,
  at: Date,
): Promise<IdentityRow | undefined> {
  return (await database.prepared<IdentityRow>("service-identity", one, [orgUuid, identityId, at]))[0];
}

/** A living identity, locked with its organization for a change of it until the transaction ends. */
export async function lockIdentity(
  tx: Tx,
  orgUuid: string,
  identityId: string,
  at: Date,
): Promise<IdentityRow | undefined> {
  await lockCredentials(tx, orgUuid);
  return (await tx.query<IdentityRow>(`${one} for no key update of i`, [orgUuid, identityId, at]))[0];
}

/** An identity as its credentials are made. */
export interface KeptIdentity {
  identityId: string;
  name: string;
  roleId: number;
}

/** A living identity, which neither ends nor changes its role before the transaction ends. */
export async function keepIdentity(tx: Tx, orgUuid: string, identityId: string): Promise<KeptIdentity | undefined> {
  const sql = `select identity_id as "identityId", name, role_id as "roleId" from service_identities
    where org_uuid = $1 and identity_id = $2 and deleted_at is null for share`;
  return (await tx.query<KeptIdentity>(sql, [orgUuid, identityId]))[0];
}

/**
 * Stores what a locked identity has become; false, and the transaction cannot commit, when a living one of the
 * organization has its name. A change of role makes requests that were authenticated before it commit nothing.
 */
export async function updateIdentity(
  tx: Tx,
  orgUuid: string,
  { identityId, name, description, roleId }: Omit<NewIdentity, "createdAt">,
  at: Date,
): Promise<boolean> {
  await tx.reauthorize();
  const sql = `update service_identities set name = $3, description = $4, role_id = $5, updated_at = $6,
      version = version + case when role_id = $5 then 0 else 1 end
    where org_uuid = $1 and identity_id = $2`;
  try {
    await tx.query(sql, [orgUuid, identityId, name, description, roleId, at]);
    return true;
  } catch (error) {
    // Only the index sees the names that other transactions are about to commit.
    if (violatedConstraint(error) === "service_identities_name") return false;
    throw error;
  }
}

/**
 * Ends an identity; returns its name, undefined when there was no living one. Locks it before the caller, as those do
 * who make credentials for it.
 */
export async function endIdentity(tx: Tx, orgUuid: string, identityId: string, at: Date): Promise<string | undefined> {
  if ((await lockIdentity(tx, orgUuid, identityId, at)) === undefined) return undefined;
  await tx.reauthorize();
  const sql = `update service_identities set deleted_at = $3, updated_at = $3
    where org_uuid = $1 and identity_id = $2 and deleted_at is null returning name`;
  return (await tx.query<{ name: string }>(sql, [orgUuid, identityId, at]))[0]?.name;
}

/** How many identities of an organization ended, and how much of what they had. */
export interface EndedIdentities {
  identities: number;
  tokens: number;
  svids: number;
}

/** Locks the living identities of an organization until the transaction ends. */
export async function lockAllOf(tx: Tx, orgUuid: string): Promise<void> {
  const sql = `select 1 from service_identities where org_uuid = $1 and deleted_at is null
    order by identity_id for no key update`;
  await tx.query(sql, [orgUuid]);
}

/**
 * Ends every identity of an organization, with its tokens and SVIDs, also those that are being created meanwhile: a
 * statement waits for the requests of the identities it ends, and the next one sees what these have created.
 */
export async function endAllOf(tx: Tx, orgUuid: string, at: Date): Promise<EndedIdentities> {
  await tx.reauthorize();
  const end = (table: string, id: string, column: string, living = ""): Promise<number> =>
    updateInBatches(tx, { table, id, set: `${column} = $2`, where: `org_uuid = $1 and ${column} is null ${living}` }, [
      orgUuid,
      at,
    ]);
  const identities = await end("service_identities", "identity_id", "deleted_at");
  const tokens = await end("automation_tokens", "token_id", "revoked_at");
  return { identities, tokens, svids: await end("svids", "svid_id", "revoked_at", "and not_after > $2") };
}
