import { defineConcurrentMigration } from "../platform/db/migrator.ts";
import type { ConcurrentIndex } from "../platform/db/migrator.ts";

/** One for each order and filter of the marketplace's lists, the platform's own among them. */
const lists: readonly ConcurrentIndex[] = [
  { index: "apps_newest", on: "apps (created_at desc, app_id)" },
  { index: "apps_status_newest", on: "apps (status, created_at desc, app_id)" },
  { index: "apps_org_newest", on: "apps (org_uuid, created_at desc, app_id)" },
  { index: "apps_org_status", on: "apps (org_uuid, status, created_at desc, app_id)" },
  { index: "installs_newest", on: "installs (created_at desc, install_id)" },
  { index: "installs_status_newest", on: "installs (status, created_at desc, install_id)" },
  { index: "installs_org_status", on: "installs (org_uuid, status, created_at desc, install_id)" },
  { index: "installs_org_app", on: "installs (org_uuid, app_id, created_at desc, install_id)" },
  { index: "installs_app_status", on: "installs (app_id, status, created_at desc, install_id)" },
  { index: "cloud_targets_status", on: "cloud_targets (status, created_at desc, target_id)" },
  { index: "app_admins_app", on: "app_admins (app_id, created_at, grant_id)" },
  { index: "organizations_by_name", on: "organizations (lower(name), uuid) where deleted_at is null" },
];

/** Whose connection holds an Idempotency-Key, timelines of bounded length, and an index for the order of each list. */
export const ordersOfLists = defineConcurrentMigration("0028-orders-of-lists", [
  "alter table idempotency_records add column if not exists holder bigint",
  "grant delete on install_timeline to atrium_app",
  ...lists,
  "drop index concurrently if exists apps_org",
]);
