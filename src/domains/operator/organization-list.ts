import type { Listed } from "../../platform/db/list.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Database } from "../../platform/db/types.ts";
import * as store from "./organization-store.ts";
import type { OrganizationOverviewRow } from "./organization-store.ts";

/** The organizations of the installation, for platform admins (decisions 17.5). */
export function createOrganizationList({ database }: { database: Database }) {
  return {
    /** A page of the organizations. */
    list: (page: Page): Promise<Listed<OrganizationOverviewRow>> => store.pageOfOrganizations(database, page),
  };
}
