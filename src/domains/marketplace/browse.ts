import type { Caller } from "../../platform/caller.ts";
import { searchCatalogue, wholeCatalogue } from "./catalogue-store.ts";
import type { CataloguePage } from "./catalogue-store.ts";
import type { App } from "./entities.ts";
import { marketplaceErrors } from "./errors.ts";
import type { MarketplaceDeps } from "./deps.ts";
import * as store from "./store.ts";

/** Apps a page of the catalogue shows (decisions 1.1). */
export const CATALOGUE_PAGE = 20;

/** Reading the marketplace as a buyer. */
export function createBrowse(deps: MarketplaceDeps) {
  const { database } = deps;
  return {
    /** A page of published apps; `page` counts from 1. A query without any word finds nothing. */
    browse(q: string, page: number): Promise<CataloguePage> {
      const [limit, offset] = [CATALOGUE_PAGE, (page - 1) * CATALOGUE_PAGE];
      return database.read((em) =>
        q.trim() === "" ? wholeCatalogue(em, limit, offset) : searchCatalogue(em, q, limit, offset),
      );
    },

    /**
     * One app and its publisher; what is not published shows to its owners and platform admins only. Error: 404
     * app_not_found.
     */
    async detail(caller: Caller, slug: string): Promise<{ app: App; publisher: string; isOwner: boolean }> {
      const app = await database.read((em) => store.appBySlug(em, slug));
      if (app === null) throw marketplaceErrors.appNotFound();
      const isOwner = caller.isPlatformAdmin || caller.orgUuid === app.orgUuid || caller.appAdmin.includes(app.appId);
      if (app.status !== "published" && !isOwner) throw marketplaceErrors.appNotFound();
      const names = await deps.orgNames([app.orgUuid]);
      return { app, publisher: names.get(app.orgUuid) ?? "", isOwner };
    },
  };
}
