/** Authentication events, exactly those of the interface's Events section. */
export const authEventTypes = [
  "login.password",
  "login.magic_link",
  "login.oidc",
  "login.saml",
  "login.totp_verify",
  "login.recovery_code",
  "session.revoked",
  "session.bulk_revoked",
  "token.refreshed",
  "mfa.enrolled",
  "mfa.disabled",
  "step_up.challenged",
  "step_up.verified",
  "step_up.failed",
  "svid.issued",
  "svid.revoked",
  "key.rotated",
] as const;

/** Administrative actions, which only the wider log of an organization shows. */
export const administrativeEventTypes = [
  "organization.created",
  "organization.updated",
  "organization.deleted",
  "user.invited",
  "user.joined",
  "user.updated",
  "user.deactivated",
  "user.reactivated",
  "user.removed",
  "user.picture_updated",
  "password.changed",
  "password.reset",
  "email.confirmed",
  "recovery_codes.regenerated",
  "mfa.reset",
  "profile.updated",
  "device.account_added",
  "device.account_removed",
  "device.account_switched",
  "role.created",
  "role.updated",
  "role.assigned",
  "signing_key.created",
  "signing_key.deleted",
  "signing_key.used",
  "credential.created",
  "credential.revoked",
  "oidc_connection.created",
  "oidc_connection.updated",
  "oidc_connection.deleted",
  "oidc_connection.linked",
  "service_identity.created",
  "service_identity.updated",
  "service_identity.deleted",
  "vault.secret.read",
  "vault.secret.written",
  "vault.secret.deleted",
  "vault.secret.restored",
  "vault.sealed",
  "vault.unsealed",
  "ca.created",
  "ca.deleted",
  "certificate.issued",
  "certificate.revoked",
  "scim.user.created",
  "scim.user.updated",
  "scim.user.deleted",
  "scim.group.created",
  "scim.group.updated",
  "scim.group.deleted",
  "app.created",
  "app.updated",
  "app.published",
  "app.rejected",
  "app.archived",
  "app.admin_granted",
  "app.admin_revoked",
  "app.secret_rotated",
  "listing.created",
  "install.requested",
  "install.active",
  "install.failed",
  "install.suspended",
  "install.resumed",
  "install.deprovisioning",
  "install.deprovisioned",
  "cloud_target.revoked",
  "plan.updated",
  "price.created",
  "price.deactivated",
  "checkout.created",
  "card.added",
  "card.removed",
  "card.default_changed",
  "subscription.created",
  "subscription.changed",
  "subscription.canceled",
  "meter.created",
  "template.created",
  "template.updated",
  "template.deleted",
  "variable.created",
  "variable.updated",
  "variable.deleted",
  "ai.gateway_updated",
  "ai.routing_updated",
  "mcp_server.created",
  "mcp_server.deleted",
  "webhook.created",
  "webhook.updated",
  "webhook.deleted",
  "webhook.disabled",
  "audit.exported",
  "audit.purged",
  "retention.updated",
] as const;

/** A type of authentication event. */
export type AuthEventType = (typeof authEventTypes)[number];
/** A type of event of the wider log. */
export type AuditEventType = AuthEventType | (typeof administrativeEventTypes)[number];

const auth: ReadonlySet<string> = new Set(authEventTypes);
const all: ReadonlySet<string> = new Set([...authEventTypes, ...administrativeEventTypes]);

/** Whether `type` is one of the documented authentication events. */
export function isAuthEventType(type: string): type is AuthEventType {
  return auth.has(type);
}

/** Whether `type` is an event of the wider log. */
export function isAuditEventType(type: string): type is AuditEventType {
  return all.has(type);
}

/** Who did it, as the wider log shows it. */
export interface Actor {
  /** Kind of principal: `user`, `api_key`, `automation_token`, `svid`, `scim_token`, `system`. */
  type: string;
  /** Id of the principal; null for `system`. */
  id: string | null;
  /** Address of a person, null otherwise. */
  email: string | null;
}

/** Something that happened, to be recorded. */
export interface AuditEvent {
  type: AuditEventType;
  outcome: "success" | "failure";
  /** The person it happened to or who did it; null when unknown or not a person. */
  userUuid: string | null;
  /** The organization it belongs to; null when unknown. */
  orgUuid: string | null;
  /** Where the request came from. */
  info: { address: string; userAgent: string };
  /** JSON; never a secret. */
  metadata?: Readonly<Record<string, unknown>>;
  actor?: Actor | null;
  resource?: { type: string; id: string };
}

/** An event as it is stored. */
export interface AuditRecord {
  eventId: string;
  type: string;
  outcome: string;
  userUuid: string | null;
  orgUuid: string | null;
  ipAddress: string;
  userAgent: string;
  metadata: Record<string, unknown>;
  actor: Actor | null;
  resourceType: string | null;
  resourceId: string | null;
  createdAt: Date;
}
