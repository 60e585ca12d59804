import { defineMigration } from "../platform/db/migrator.ts";

const expiries = `
  create index mfa_tokens_expiry on mfa_tokens (expires_at);
  create index step_up_challenges_expiry on step_up_challenges (expires_at);
  create index api_keys_revoked on api_keys (revoked_at) where revoked_at is not null;
  create index scim_tokens_revoked on scim_tokens (revoked_at) where revoked_at is not null;
`;

/** Finds what is over for good without a scan, so that it can be forgotten whoever it belonged to. */
export const expiryIndexes = defineMigration("0016-expiries", [expiries]);
