import type { Cause } from "../../event-catalogue/index.ts";

/** Outbox topic: an install changed and its workflow has to read the row. Payload: {@link InstallChanged}. */
export const INSTALL_CHANGED = "install.changed";

/** Payload of {@link INSTALL_CHANGED}. */
export interface InstallChanged {
  install_id: string;
}

/** Outbox topic: an install is being deprovisioned, or was never provisioned. Payload: {@link EndedInstall}. */
export const INSTALL_ENDED = "install.ended";

/** Payload of {@link INSTALL_ENDED}. */
export interface EndedInstall {
  org_uuid: string;
  install_id: string;
}

/** Outbox topic: an organization that was deleted still has live installs. Payload: {@link LeftInstalls}. */
export const INSTALLS_LEFT = "installs.left";

/** Payload of {@link INSTALLS_LEFT}. */
export interface LeftInstalls {
  org_uuid: string;
  /** Who deleted the organization and from where, for the audit events of the remaining installs. */
  by: Cause;
}
