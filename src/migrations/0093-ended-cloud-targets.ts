import { defineMigration } from "../platform/db/migrator.ts";

/** Revokes the cloud targets of installs that have ended. */
export const endedCloudTargets = defineMigration("0093-ended-cloud-targets", [
  `update cloud_targets t set status = 'revoked' from installs i
   where i.install_id = t.install_id and i.status = 'deprovisioned' and t.status = 'active'`,
]);
