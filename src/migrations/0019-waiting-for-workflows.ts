import { defineMigration } from "../platform/db/migrator.ts";

const indexes = `
  create index installs_pending on installs (install_id) where step is not null;
  create index signing_keys_overlap on signing_keys (kid) where not active and retired_at is null;
`;

/** Finding what waits for a workflow without passing over what does not. */
export const waitingForWorkflows = defineMigration("0019-waiting-for-workflows", [indexes]);
