import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/** Orders of lists of which an organization, or the platform, may have very many rows. */
export const ordersOfLongLists = defineConcurrentMigration("0098-orders-of-long-lists", [
  { index: "payments_by_creation", on: "payments (org_uuid, created_at desc, id desc)" },
  { index: "prices_by_creation", on: "prices (created_at desc, price_id desc)" },
  {
    index: "service_identities_by_name",
    on: "service_identities (org_uuid, lower(name), identity_id desc) where deleted_at is null",
  },
  { index: "automation_tokens_by_name", on: "automation_tokens (org_uuid, lower(name), token_id desc)" },
  { index: "vault_secrets_by_writing", on: "vault_secrets (org_uuid, written_at desc, secret_id)" },
]);
