import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/** Finds keys, tokens, invitations and factors that are over without a scan, so that they can be forgotten. */
export const endsOfRows = defineConcurrentMigration("0040-ends", [
  { index: "api_keys_expiry", on: "api_keys (expires_at) where revoked_at is null" },
  { index: "scim_tokens_expiry", on: "scim_tokens (expires_at) where revoked_at is null" },
  { index: "invitations_expiry", on: "invitations (expires_at)" },
  { index: "mfa_factors_disabled", on: "mfa_factors (disabled_at) where status = 'disabled'" },
]);
