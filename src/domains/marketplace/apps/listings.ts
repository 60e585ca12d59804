import { dateOf } from "../../../platform/clock.ts";
import type { CallerContext } from "../../../platform/context.ts";
import { causedBy, EVENTS } from "../../event-catalogue/index.ts";
import type { MarketplaceDeps, Page } from "../deps.ts";
import { marketplaceErrors } from "../errors.ts";
import { lockAdministeredApp } from "./administered-app.ts";
import { insertListing, isListed, listingsOf } from "./listing-store.ts";
import type { ListingKey, ListingRow } from "./listing-store.ts";

/** Listings of apps on other marketplaces. */
export function createListings(deps: MarketplaceDeps) {
  const { database, clock, random, events } = deps;
  return {
    /**
     * Lists an app on another marketplace.
     * @throws {app_not_found} when there is no such app
     * @throws {conflict} when the app lists this product and plan there already
     */
    createListing: (context: CallerContext, key: ListingKey): Promise<ListingRow> =>
      context.transaction(async (tx) => {
        const app = await lockAdministeredApp(deps, tx, context.caller, key.appId);
        if (await isListed(tx, key)) throw marketplaceErrors.listed();
        const listing: ListingRow = { ...key, listingId: random.uuid(), status: "active", createdAt: dateOf(clock) };
        await insertListing(tx, listing);
        await events.emit(tx, EVENTS["listing.created"], {
          by: causedBy(context),
          orgUuid: app.orgUuid,
          resourceId: app.appId,
          metadata: { app_id: app.appId, listing_id: listing.listingId, marketplace: listing.marketplace },
        });
        return listing;
      }),

    /** Listings of an app, newest first. */
    listings: (appId: string, page: Page) => listingsOf(database, appId, page),
  };
}
