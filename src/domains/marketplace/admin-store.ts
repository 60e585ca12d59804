import type { EntityManager } from "@mikro-orm/postgresql";
import { boundedCount, totalOf } from "../../platform/db/counting.ts";
import type { Total } from "../../platform/db/counting.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import type { Page } from "./store.ts";

/** A grant of app admin. */
export interface GrantRow {
  grant_id: string;
  app_id: string;
  user_uuid: string;
  granted_by: string;
  created_at: Date;
}

/** Where an app is listed elsewhere. */
export interface ListingRow {
  listing_id: string;
  app_id: string;
  marketplace: string;
  external_product_id: string;
  external_plan_id: string | null;
  status: string;
  created_at: Date;
}

/** Where a single-tenant install runs. */
export interface CloudTargetRow {
  target_id: string;
  install_id: string;
  org_uuid: string;
  provider: string;
  region: string;
  status: string;
  created_at: Date;
}

/** Makes somebody administrator of an app; undefined when they are one already. */
export async function insertGrant(tx: Tx, grant: GrantRow): Promise<GrantRow | undefined> {
  const rows = await tx.query<GrantRow>(
    `insert into app_admins (grant_id, app_id, user_uuid, granted_by, created_at) values ($1, $2, $3, $4, $5)
     on conflict (app_id, user_uuid) do nothing returning grant_id, app_id, user_uuid, granted_by, created_at`,
    [grant.grant_id, grant.app_id, grant.user_uuid, grant.granted_by, grant.created_at],
  );
  return rows[0];
}

/** Ends a grant; false when there was none. */
export async function deleteGrant(tx: Tx, appId: string, userUuid: string): Promise<boolean> {
  const rows = await tx.query("delete from app_admins where app_id = $1 and user_uuid = $2 returning 1 as one", [
    appId,
    userUuid,
  ]);
  return rows.length > 0;
}

/** Ends every grant of a person on apps of an organization. */
export async function deleteGrantsOf(tx: Tx, orgUuid: string, userUuid: string): Promise<void> {
  await tx.query(
    "delete from app_admins g using apps a where a.app_id = g.app_id and a.org_uuid = $1 and g.user_uuid = $2",
    [orgUuid, userUuid],
  );
}

/** Grants of an app, oldest first, at most a thousand. */
export function grantsOf(database: Pick<Database, "prepared">, appId: string): Promise<GrantRow[]> {
  return database.prepared<GrantRow>(
    "app-grants",
    "select grant_id, app_id, user_uuid, granted_by, created_at from app_admins where app_id = $1 order by created_at, grant_id limit 1000",
    [appId],
  );
}

/** Whether an app lists a product and plan on another marketplace. */
export async function isListed(
  tx: Tx,
  listing: Pick<ListingRow, "app_id" | "marketplace" | "external_product_id" | "external_plan_id">,
): Promise<boolean> {
  const rows = await tx.query(
    "select 1 from app_listings where app_id = $1 and marketplace = $2 and external_product_id = $3 and external_plan_id is not distinct from $4 limit 1",
    [listing.app_id, listing.marketplace, listing.external_product_id, listing.external_plan_id],
  );
  return rows.length > 0;
}

/** Lists an app on another marketplace. */
export async function insertListing(tx: Tx, listing: ListingRow): Promise<void> {
  await tx.query(
    "insert into app_listings (listing_id, app_id, marketplace, external_product_id, external_plan_id, status, created_at) values ($1, $2, $3, $4, $5, $6, $7)",
    [
      listing.listing_id,
      listing.app_id,
      listing.marketplace,
      listing.external_product_id,
      listing.external_plan_id,
      listing.status,
      listing.created_at,
    ],
  );
}

async function pageOfRows<R>(
  em: EntityManager,
  columns: string,
  from: string,
  params: unknown[],
  order: string,
  page: Page,
): Promise<{ rows: R[] } & Total> {
  const connection = em.getConnection();
  const rows = await connection.execute<R[]>(`select ${columns} from ${from} order by ${order} limit ? offset ?`, [
    ...params,
    page.limit,
    page.offset,
  ]);
  // In the list's own order, so that the index is read that has it.
  const total = await connection.execute<{ counted: number }[]>(boundedCount(`from ${from} order by ${order}`), params);
  return { rows, ...totalOf(total) };
}

/** Listings of an app, newest first. */
export function listingsOf(em: EntityManager, appId: string, page: Page): Promise<{ rows: ListingRow[] } & Total> {
  return pageOfRows(
    em,
    "listing_id, app_id, marketplace, external_product_id, external_plan_id, status, created_at",
    "app_listings where app_id = ?",
    [appId],
    "created_at desc, listing_id",
    page,
  );
}

/** Cloud targets of every organization, newest first. */
export function cloudTargets(
  em: EntityManager,
  status: string | undefined,
  page: Page,
): Promise<{ rows: CloudTargetRow[] } & Total> {
  const [from, params] = status === undefined ? ["cloud_targets", []] : ["cloud_targets where status = ?", [status]];
  return pageOfRows(
    em,
    "target_id, install_id, org_uuid, provider, region, status, created_at",
    from,
    params,
    "created_at desc, target_id",
    page,
  );
}

/** Takes a cloud target away; answers it, whether or not it was taken before. */
export async function revokeTarget(tx: Tx, targetId: string): Promise<CloudTargetRow | undefined> {
  const rows = await tx.query<CloudTargetRow>(
    "update cloud_targets set status = 'revoked' where target_id = $1 returning target_id, install_id, org_uuid, provider, region, status, created_at",
    [targetId],
  );
  return rows[0];
}
