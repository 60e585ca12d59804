import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/**
 * Whom a back-channel logout ended at the provider: a sign-in that has begun there and is not complete here, such as
 * one that waits for a second factor, must not outlive it.
 */
export const oidcLogouts = defineConcurrentMigration("0063-oidc-logouts", [
  'alter table oidc_logouts add column if not exists subject text collate "C"',
  'alter table oidc_logouts add column if not exists sid text collate "C"',
  "alter table oidc_logouts add column if not exists created_at timestamptz(3) not null default now()",
  { index: "oidc_logouts_subject", on: "oidc_logouts (connection_uuid, subject) where subject is not null" },
  { index: "oidc_logouts_sid", on: "oidc_logouts (connection_uuid, sid) where sid is not null" },
]);
