// Generated from the catalogue of events by `npm run generate`; do not edit.
/* eslint-disable */

/** `data` of the events that webhooks receive, by type. */
export interface WebhookEventData {
  "agent.task_completed": { task_id: string; };
  "api_key.created": { key_id: string; name?: string; scopes?: string[]; };
  "api_key.revoked": { key_id: string; name?: string; scopes?: string[]; };
  "app.archived": { app_id: string; slug: string; status: string; };
  "app.published": { app_id: string; slug: string; status: string; };
  "certificate.issued": { cert_uuid: string; serial: string; };
  "certificate.revoked": { cert_uuid: string; serial: string; };
  "install.active": { install_id: string; app_id: string; };
  "install.deprovisioned": { install_id: string; app_id: string; };
  "install.deprovisioning": { install_id: string; app_id: string; };
  "install.failed": { install_id: string; app_id: string; };
  "install.provisioning": { install_id: string; app_id: string; };
  "install.resumed": { install_id: string; app_id: string; };
  "install.suspended": { install_id: string; app_id: string; };
  "invoice.paid": { invoice_id: string; };
  "invoice.payment_failed": { invoice_id: string; };
  "mfa.disabled": { factor_id: number; factor_type: string; user_uuid: string; reason?: string; };
  "mfa.enrolled": { factor_id: number; factor_type: string; user_uuid: string; };
  "organization.deleted": { org_uuid: string; name: string; };
  "role.assigned": { user_uuid: string; email?: string; role?: string; role_id?: number; is_owner?: boolean; status?: string; changed?: string[]; };
  "role.updated": { role_id: number; name: string; permissions: string[]; };
  "secret.deleted": { name: string; version: number; };
  "secret.restored": { name: string; version: number; };
  "secret.updated": { name: string; version: number; };
  "session.revoked": { reason: string; session_id?: string; session_ids?: string[]; revoked?: number; user_uuid?: string; device_uuid?: string; };
  "signing_key.rotated": { key_id: string; previous_key_id: string; previous_key_expires_at: string; };
  "subscription.canceled": { subscription_id: string; plan: string; };
  "subscription.created": { subscription_id: string; plan: string; };
  "subscription.upgraded": { subscription_id: string; plan: string; };
  "svid.issued": { svid_id: string; spiffe_id: string; };
  "svid.revoked": { svid_id: string; spiffe_id: string; };
  "user.created": { user_uuid: string; email?: string; role?: string; role_id?: number; is_owner?: boolean; status?: string; changed?: string[]; };
  "user.deactivated": { user_uuid: string; email?: string; role?: string; role_id?: number; is_owner?: boolean; status?: string; changed?: string[]; };
  "user.deleted": { user_uuid: string; email?: string; role?: string; role_id?: number; is_owner?: boolean; status?: string; changed?: string[]; };
  "user.updated": { user_uuid: string; email?: string; role?: string; role_id?: number; is_owner?: boolean; status?: string; changed?: string[]; };
  "webhook.disabled": { webhook_id: string; url: string; reason: string; };
  "webhook.test": { webhook_id: string; };
}
