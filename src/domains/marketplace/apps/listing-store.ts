import { createdAt, readList } from "../../../platform/db/list.ts";
import type { Listed } from "../../../platform/db/list.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";
import type { Page } from "../deps.ts";

/** A product and plan under which an app is listed on another marketplace. */
export interface ListingKey {
  appId: string;
  marketplace: string;
  externalProductId: string;
  externalPlanId: string | null;
}

/** A listing of an app on another marketplace. */
export interface ListingRow extends ListingKey {
  listingId: string;
  status: string;
  createdAt: Date;
}

const columns = `listing_id as "listingId", app_id as "appId", marketplace,
  external_product_id as "externalProductId", external_plan_id as "externalPlanId", status, created_at as "createdAt"`;

/** Whether an app lists a product and plan on another marketplace. */
export async function isListed(tx: Tx, key: ListingKey): Promise<boolean> {
  const rows = await tx.query(
    `select 1 from app_listings where app_id = $1 and marketplace = $2 and external_product_id = $3
     and external_plan_id is not distinct from $4 limit 1`,
    [key.appId, key.marketplace, key.externalProductId, key.externalPlanId],
  );
  return rows.length > 0;
}

/** Stores a listing. */
export async function insertListing(tx: Tx, listing: ListingRow): Promise<void> {
  await tx.query(
    `insert into app_listings
       (listing_id, app_id, marketplace, external_product_id, external_plan_id, status, created_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [
      listing.listingId,
      listing.appId,
      listing.marketplace,
      listing.externalProductId,
      listing.externalPlanId,
      listing.status,
      listing.createdAt,
    ],
  );
}

/** Listings of an app, newest first. */
export function listingsOf(
  database: Pick<Database, "prepared">,
  appId: string,
  page: Page,
): Promise<Listed<ListingRow>> {
  const id = { sql: "listing_id", type: "uuid" } as const;
  const q = ["marketplace", "external_product_id"];
  const list = { name: "listings", columns, from: "from app_listings where app_id = $1", params: [appId], id, q };
  return readList(database, { ...list, sort: { created_at: createdAt() }, order: "-created_at" }, page);
}
