import type { Page } from "../../platform/db/paging.ts";
import type { Total } from "../../platform/db/total.ts";
import type { Database } from "../../platform/db/types.ts";
import * as store from "./organization-store.ts";
import type { OrganizationOverviewRow } from "./organization-store.ts";

/** The organizations of the installation, for platform admins (decisions 17.5). */
export function createOrganizationList({ database }: { database: Database }) {
  return {
    /** A page of the organizations whose name contains a text, without case; by name. */
    async list(text: string, { limit, offset }: Page): Promise<{ data: OrganizationOverviewRow[] } & Total> {
      const [data, total] = await Promise.all([
        store.pageOfOrganizations(database, text, limit, offset),
        store.countOrganizations(database, text),
      ]);
      return { data, ...total };
    },
  };
}
