/** Outbox topic: an endpoint has deliveries to be tried again. Payload: the webhook's id. */
export const WEBHOOK_RETRY = "webhook.retry";

/** Payload of {@link WEBHOOK_RETRY}. */
export interface WebhookRetry {
  webhook_id: string;
}

/** Names of the events webhooks can hear (decisions 11.6). */
export type WebhookEventType =
  | "user.created"
  | "user.updated"
  | "user.deactivated"
  | "user.deleted"
  | "organization.deleted"
  | "session.revoked"
  | "mfa.enrolled"
  | "mfa.disabled"
  | "role.assigned"
  | "role.updated"
  | "api_key.created"
  | "api_key.revoked"
  | "signing_key.rotated"
  | "secret.updated"
  | "secret.deleted"
  | "secret.restored"
  | "certificate.issued"
  | "certificate.revoked"
  | "svid.issued"
  | "svid.revoked"
  | "app.published"
  | "app.archived"
  | "install.provisioning"
  | "install.active"
  | "install.suspended"
  | "install.resumed"
  | "install.deprovisioning"
  | "install.deprovisioned"
  | "install.failed"
  | "subscription.created"
  | "subscription.upgraded"
  | "subscription.canceled"
  | "invoice.paid"
  | "invoice.payment_failed"
  | "agent.task_completed"
  | "webhook.test"
  | "webhook.disabled";

/** Something webhooks may want to hear of. `data` carries the id member of its resource. */
export interface Announcement {
  type: WebhookEventType;
  /** The organization it happened in; of an install, the buyer's. */
  orgUuid: string;
  /** The app, for `app.*` and `install.*`. */
  appId?: string | undefined;
  data: Readonly<Record<string, unknown>>;
}
