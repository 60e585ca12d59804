import type { Caller, RequestInfo } from "../../platform/caller.ts";

/** Outbox topic: something of an install moved and its workflow has to look. Payload: the install's id. */
export const INSTALL_CHANGED = "install.changed";

/** Payload of {@link INSTALL_CHANGED}. */
export interface InstallChanged {
  install_id: string;
}

/** Outbox topic: an organization that ended still has live installs. Payload: {@link LeftInstalls}. */
export const INSTALLS_LEFT = "installs.left";

/** Who ended an organization and from where, for the audit events of what is given back afterwards. */
export interface Ender {
  caller: Pick<Caller, "principal" | "userUuid" | "email">;
  info: Pick<RequestInfo, "address" | "userAgent">;
}

/** Payload of {@link INSTALLS_LEFT}. */
export interface LeftInstalls extends Ender {
  org_uuid: string;
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
