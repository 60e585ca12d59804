import { boundedCount, totalOf } from "../../platform/db/total.ts";
import type { Total } from "../../platform/db/total.ts";
import type { Database } from "../../platform/db/types.ts";

/** An organization in the list of the installation. */
export interface OrganizationOverviewRow {
  orgUuid: string;
  name: string;
  plan: string;
  /** Members, inactive ones included. */
  members: number;
  createdAt: Date;
}

/** Live organizations whose name contains `$1` without case. The index `organizations_by_name` has names and order. */
const found = `from organizations o
  where o.deleted_at is null and strpos(lower(o.name), lower($1)) > 0 order by lower(o.name), o.uuid`;

/** A page of the organizations whose name contains a text, by name. Members are counted for the page alone. */
export async function pageOfOrganizations(
  database: Database,
  text: string,
  limit: number,
  offset: number,
): Promise<OrganizationOverviewRow[]> {
  const sql = `select page.uuid as "orgUuid", page.name, page.plan, page.created_at as "createdAt", (
      select count(*)::int from memberships m where m.org_uuid = page.uuid and m.status <> 'removed') as members
    from (select o.uuid, o.name, o.plan, o.created_at ${found} limit $2 offset $3) as page
    order by lower(page.name), page.uuid`;
  return database.prepared<OrganizationOverviewRow>("operator_organizations", sql, [text, limit, offset]);
}

/** How many organizations have a name that contains a text. */
export async function countOrganizations(database: Database, text: string): Promise<Total> {
  return totalOf(
    await database.prepared<{ counted: number }>("operator_organizations_count", boundedCount(found), [text]),
  );
}
