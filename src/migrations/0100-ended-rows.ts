import { defineConcurrentMigration } from "../platform/db/migrator.ts";

/** Signing keys and installs by their end, for the tidy tasks, and what refers to an install, which keeps it. */
export const endedRows = defineConcurrentMigration("0100-ended-rows", [
  "grant delete on installs, install_timeline, cloud_targets to atrium_app",
  { index: "signing_keys_retired", on: "signing_keys (retired_at) where retired_at is not null" },
  { index: "installs_ended", on: "installs (updated_at, install_id) where status = 'deprovisioned'" },
  { index: "quotes_install", on: "quotes (install_id) where install_id is not null" },
  { index: "subscriptions_install", on: "subscriptions (install_id) where install_id is not null" },
  { index: "payments_install", on: "payments (install_id) where install_id is not null" },
]);
