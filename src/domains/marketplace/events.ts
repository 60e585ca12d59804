/** Outbox topic: something of an install moved and its workflow has to look. Payload: the install's id. */
export const INSTALL_CHANGED = "install.changed";

/** Payload of {@link INSTALL_CHANGED}. */
export interface InstallChanged {
  install_id: string;
}

/** Administrative audit types of the marketplace (decisions 5.1). */
export type MarketplaceAuditType =
  | "app.created"
  | "app.updated"
  | "app.published"
  | "app.rejected"
  | "app.archived"
  | "install.requested"
  | "install.active"
  | "install.failed"
  | "install.deprovisioning"
  | "install.deprovisioned";
