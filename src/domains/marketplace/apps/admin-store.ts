import type { Database, Tx } from "../../../platform/db/types.ts";

/** A grant of app administration. */
export interface GrantRow {
  grantId: string;
  appId: string;
  userUuid: string;
  grantedBy: string;
  createdAt: Date;
}

const columns = `grant_id as "grantId", app_id as "appId", user_uuid as "userUuid", granted_by as "grantedBy",
  created_at as "createdAt"`;

/** Grants the administration of an app to a person; undefined when they have a grant already. */
export async function insertGrant(tx: Tx, grant: GrantRow): Promise<GrantRow | undefined> {
  const rows = await tx.query<GrantRow>(
    `insert into app_admins (grant_id, app_id, user_uuid, granted_by, created_at) values ($1, $2, $3, $4, $5)
     on conflict (app_id, user_uuid) do nothing returning ${columns}`,
    [grant.grantId, grant.appId, grant.userUuid, grant.grantedBy, grant.createdAt],
  );
  return rows[0];
}

/** Deletes a grant; false when there was none. */
export async function deleteGrant(tx: Tx, appId: string, userUuid: string): Promise<boolean> {
  const rows = await tx.query("delete from app_admins where app_id = $1 and user_uuid = $2 returning 1 as one", [
    appId,
    userUuid,
  ]);
  return rows.length > 0;
}

/** Deletes a person's grants on apps of an organization. */
export async function deleteGrantsOf(tx: Tx, orgUuid: string, userUuid: string): Promise<void> {
  await tx.query(
    "delete from app_admins g using apps a where a.app_id = g.app_id and a.org_uuid = $1 and g.user_uuid = $2",
    [orgUuid, userUuid],
  );
}

/** Grants of an app, oldest first, at most a thousand. */
export function grantsOf(database: Pick<Database, "prepared">, appId: string): Promise<GrantRow[]> {
  const sql = `select ${columns} from app_admins where app_id = $1 order by created_at, grant_id limit 1000`;
  return database.prepared<GrantRow>("app-grants", sql, [appId]);
}
