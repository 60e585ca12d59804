import type { CallerContext } from "../../../platform/context.ts";
import { administers } from "../../access/index.ts";
import type { MarketplaceDeps } from "../deps.ts";
import { marketplaceErrors } from "../errors.ts";
import { searchCatalogue, wholeCatalogue } from "./catalogue-store.ts";
import type { CataloguePage } from "./catalogue-store.ts";
import type { App } from "./entities.ts";
import { appBySlug } from "./store.ts";

/** Apps on one page of the catalogue (decisions 1.1). */
const PAGE_SIZE = 20;

/** The public catalogue. */
export function createCatalogue({ database, organizations }: Pick<MarketplaceDeps, "database" | "organizations">) {
  return {
    /** A page of published apps; `page` counts from 1. A query without a word finds nothing. */
    browse(query: string, page: number): Promise<CataloguePage> {
      const [limit, offset] = [PAGE_SIZE, (page - 1) * PAGE_SIZE];
      return database.read((em) =>
        query.trim() === "" ? wholeCatalogue(em, limit, offset) : searchCatalogue(em, query, limit, offset),
      );
    },

    /**
     * One app with the name of its publisher, and whether the caller administers it. Only they, members of the
     * publishing organization and platform admins see an app that is not published.
     * @throws {app_not_found} when there is no such app, or the caller may not see it
     */
    async detail({ caller }: CallerContext, slug: string): Promise<{ app: App; publisher: string; isOwner: boolean }> {
      const app = await database.read((em) => appBySlug(em, slug));
      if (app === null) throw marketplaceErrors.appNotFound();
      const isOwner = administers(caller, app);
      if (app.status !== "published" && !isOwner && caller.orgUuid !== app.orgUuid)
        throw marketplaceErrors.appNotFound();
      const nameOf = await organizations.namesOf([app.orgUuid]);
      return { app, publisher: nameOf(app.orgUuid), isOwner };
    },
  };
}
