import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/** Indexes for lists and look-ups by a value that few of an organization's many rows may have. */
export const filtersOfLists = defineConcurrentMigration("0129-filters-of-lists", [
  { index: "memberships_role_email", on: "memberships (org_uuid, role_id, email_key) where status <> 'removed'" },
  {
    index: "memberships_role_newest",
    on: "memberships (org_uuid, role_id, created_at desc, user_uuid) where status <> 'removed'",
  },
  { index: "payments_status_newest", on: "payments (org_uuid, status, created_at desc, id desc)" },
  { index: "subscriptions_status_newest", on: "subscriptions (org_uuid, status, created_at desc, subscription_id)" },
  {
    index: "svids_revoked_newest",
    on: "svids (org_uuid, created_at desc, svid_id) where revoked_at is not null",
  },
  { index: "svids_unrevoked", on: "svids (org_uuid, not_after) where revoked_at is null" },
  {
    index: "vault_secrets_restorable",
    on: "vault_secrets (org_uuid, name, secret_id desc) where restorable_until is not null",
  },
  { index: "app_listings_product", on: "app_listings (app_id, marketplace, external_product_id)" },
  {
    index: "invitations_sender",
    on: "invitations (org_uuid, sender) where accepted_at is null and ended_at is null",
  },
]);
