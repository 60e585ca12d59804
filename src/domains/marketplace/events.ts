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
  | "app.admin_granted"
  | "app.admin_revoked"
  | "app.secret_rotated"
  | "listing.created"
  | "key.rotated"
  | "install.requested"
  | "install.active"
  | "install.failed"
  | "install.suspended"
  | "install.resumed"
  | "install.deprovisioning"
  | "install.deprovisioned";
