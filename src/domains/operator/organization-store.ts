import { byText, createdAt, readList } from "../../platform/db/list.ts";
import type { Listed, ListSource } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
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

/** A page of the live organizations, in the orders of their two indexes. */
export async function pageOfOrganizations(database: Database, page: Page): Promise<Listed<OrganizationOverviewRow>> {
  const list: ListSource = {
    name: "operator_organizations",
    columns: 'o.uuid as "orgUuid", o.name, o.plan, o.created_at as "createdAt"',
    from: "from organizations o where o.deleted_at is null",
    params: [],
    id: { sql: "o.uuid", type: "uuid" },
    q: ["o.name"],
    sort: { name: byText("o.name"), created_at: createdAt("o.") },
    order: "name",
    ties: "with",
  };
  const { rows, ...total } = await readList<Omit<OrganizationOverviewRow, "members">>(database, list, page);
  const members = await countMembers(
    database,
    rows.map(({ orgUuid }) => orgUuid),
  );
  return { rows: rows.map((row) => ({ ...row, members: members.get(row.orgUuid) ?? 0 })), ...total };
}

/** Numbers of members of the organizations of a page; as a column of the list, an offset would read others too. */
async function countMembers(database: Database, orgUuids: readonly string[]): Promise<Map<string, number>> {
  const counted = await database.prepared<{ orgUuid: string; members: number }>(
    "operator_organization_members",
    `select org_uuid as "orgUuid", active + inactive as members from membership_counts
     where org_uuid = any($1::uuid[])`,
    [orgUuids],
  );
  return new Map(counted.map(({ orgUuid, members }) => [orgUuid, members]));
}
