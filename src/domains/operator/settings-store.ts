import { byText, readList } from "../../platform/db/list.ts";
import type { Listed, ListSource } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Database, Tx } from "../../platform/db/types.ts";

/** Settings of an organization as they are in force. */
export interface SettingsRow {
  orgUuid: string;
  auditRetentionDays: number;
  plan: string;
  /** Null where the settings are the defaults. */
  updatedAt: Date | null;
}

const columns = `o.uuid as "orgUuid", audit_retention_days(o.uuid) as "auditRetentionDays", o.plan,
  s.updated_at as "updatedAt"`;
const from = "from organizations o left join organization_settings s on s.org_uuid = o.uuid where o.deleted_at is null";

/** Settings of a live organization. */
export async function settingsOf(tx: Pick<Tx, "query">, orgUuid: string): Promise<SettingsRow | undefined> {
  return (await tx.query<SettingsRow>(`select ${columns} ${from} and o.uuid = $1`, [orgUuid]))[0];
}

/** Settings of a live organization, read without a transaction. */
export async function findSettings(database: Database, orgUuid: string): Promise<SettingsRow | undefined> {
  const sql = `select ${columns} ${from} and o.uuid = $1`;
  return (await database.prepared<SettingsRow>("orgs_settings_one", sql, [orgUuid]))[0];
}

/** A page of the settings of every live organization. */
export function pageOfSettings(database: Database, page: Page): Promise<Listed<SettingsRow>> {
  const list: ListSource = {
    name: "orgs_settings_page",
    columns,
    from,
    params: [],
    id: { sql: "o.uuid", type: "uuid" },
    q: ["o.name"],
    sort: { name: byText("o.name") },
    order: "name",
    ties: "with",
  };
  return readList(database, list, page);
}

/** Sets how long audit events are retained, days. */
export async function putRetention(tx: Tx, orgUuid: string, days: number, at: Date): Promise<void> {
  await tx.query(
    `insert into organization_settings (org_uuid, audit_retention_days, updated_at) values ($1, $2, $3)
     on conflict (org_uuid) do update set audit_retention_days = $2, enterprise_ended_at = null, updated_at = $3`,
    [orgUuid, days, at],
  );
}

/**
 * Records where the plan enterprise has ended since the last call, or is back; returns the number of those
 * organizations.
 */
export async function recordPlanEnds(database: Database, at: Date): Promise<number> {
  const sql = `update organization_settings s
    set enterprise_ended_at = case when o.plan = 'enterprise' then null else $1::timestamptz end
    from organizations o
    where o.uuid = s.org_uuid and s.audit_retention_days > 90
      and (o.plan = 'enterprise') = (s.enterprise_ended_at is not null)
    returning s.org_uuid`;
  return (await database.prepared("orgs_note_plans", sql, [at])).length;
}
