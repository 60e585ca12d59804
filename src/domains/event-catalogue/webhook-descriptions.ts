import type { EVENTS } from "./catalogue.ts";
import type { WebhookEventType } from "./catalogue.ts";
import type { DataOf } from "./row.ts";

type Rows = (typeof EVENTS)[keyof typeof EVENTS];
type DataOfType<T extends WebhookEventType> = DataOf<Extract<Rows, { webhook: T }>["data"]>;

/** When an event of a type is sent, and a sample of its `data`. */
interface Description<T extends WebhookEventType> {
  readonly when: string;
  readonly sample: DataOfType<T>;
}

const APP = { app_id: "0b9c6c4e-5b0f-4a5e-9f0c-6d2f7c1c8a11", slug: "time-tracker" };
const CERTIFICATE = {
  cert_uuid: "5d6f2c58-7a53-4c1b-8f6e-0e8c1f6c2b90",
  serial: "4f0c1d9a6b7e58213c90aa4412ef6b07",
};
const FACTOR = { factor_id: 7, factor_type: "totp", user_uuid: "3f6f1c0e-8a5d-4e0b-9f57-2a6b1c4d7e88" };
const INSTALL = { install_id: "c1a7e6b2-44d5-4f8e-8a0d-93b7f0e1d254", app_id: APP.app_id };
const KEY_ID = "b7e4d1c2-a9f8-4e36-8d15-0c6f2b9a7e41";
const SECRET = { name: "payments.api-token", version: 3 };
const SUBSCRIPTION = { subscription_id: "2c8f5b17-6d3e-4a90-b1c4-7e0d9f3a5b62", plan: "business" };
const SVID = {
  svid_id: "9a1e7f64-2d0b-4b6c-a1f3-5c8e0d7b6a42",
  spiffe_id: "spiffe://8e1f0a3c-6d2b-4c7f-b5a9-1d4e7c0f2b63.atrium.local/svc/5d2c9b8e-7a41-4f36-9c0d-1e8b4a7f2c93",
};
const MEMBER = {
  user_uuid: FACTOR.user_uuid,
  email: "ada@acme.example",
  role: "manager",
  role_id: 2,
  is_owner: false,
  status: "active",
};

/** Every type of event that webhooks receive. */
export const WEBHOOK_DESCRIPTIONS: { readonly [T in WebhookEventType]: Description<T> } = {
  "agent.task_completed": { when: "Reserved: nothing sends it in this version.", sample: { task_id: "task_51" } },
  "api_key.created": {
    when: "An API key was created.",
    sample: { key_id: KEY_ID, name: "nightly export", scopes: ["read:users"] },
  },
  "api_key.revoked": {
    when: "An API key was revoked, or ended with the membership of its maker.",
    sample: { key_id: KEY_ID },
  },
  "app.archived": { when: "An app was archived.", sample: { ...APP, status: "archived" } },
  "app.published": { when: "An app was approved and is in the marketplace.", sample: { ...APP, status: "published" } },
  "certificate.issued": { when: "The organization's authority issued a client certificate.", sample: CERTIFICATE },
  "certificate.revoked": {
    when: "One client certificate was revoked. Deleting an authority revokes all that it issued, and sends no event.",
    sample: CERTIFICATE,
  },
  "install.active": { when: "The publisher has provisioned an install.", sample: INSTALL },
  "install.deprovisioned": { when: "The publisher has removed an install.", sample: INSTALL },
  "install.deprovisioning": { when: "An install is being removed.", sample: INSTALL },
  "install.failed": { when: "An install could not be provisioned.", sample: INSTALL },
  "install.provisioning": { when: "The organization installs an app.", sample: INSTALL },
  "install.resumed": { when: "A suspended install is active again.", sample: INSTALL },
  "install.suspended": { when: "An install was suspended.", sample: INSTALL },
  "invoice.paid": { when: "The payment provider confirmed a payment.", sample: { invoice_id: "in_3Tr9Zk1b" } },
  "invoice.payment_failed": {
    when: "The payment provider reported a failed payment.",
    sample: { invoice_id: "in_3Tr9Zk1b" },
  },
  "mfa.disabled": { when: "A person's active second factor ended.", sample: FACTOR },
  "mfa.enrolled": { when: "A person activated a second factor.", sample: FACTOR },
  "organization.deleted": {
    when: "The organization was deleted. It is the last event that its webhooks receive.",
    sample: { org_uuid: "8e1f0a3c-6d2b-4c7f-b5a9-1d4e7c0f2b63", name: "Acme" },
  },
  "role.assigned": { when: "A member got another role.", sample: MEMBER },
  "role.updated": {
    when: "The permissions of a custom role changed.",
    sample: { role_id: 12, name: "auditor", permissions: ["event:read", "user:read"] },
  },
  "secret.deleted": { when: "A secret of the vault was deleted; 30 days remain to restore it.", sample: SECRET },
  "secret.restored": { when: "A deleted secret of the vault was restored.", sample: SECRET },
  "secret.updated": { when: "A secret of the vault was written, the first version included.", sample: SECRET },
  "session.revoked": {
    when: "One session ended early (`session_id`), or several did (`session_ids`; `revoked` is their number).",
    sample: { reason: "logout", session_id: "e7d3b0a1-5c8f-4f26-9d1b-7a4c6e2f8b05" },
  },
  "signing_key.rotated": {
    when: "A new key signs the organization's tokens; tokens of the previous one stay valid until it expires.",
    sample: {
      key_id: "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
      previous_key_id: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
      previous_key_expires_at: "2026-07-02T09:30:00.000Z",
    },
  },
  "subscription.canceled": { when: "A subscription ended.", sample: SUBSCRIPTION },
  "subscription.created": { when: "A subscription began.", sample: SUBSCRIPTION },
  "subscription.upgraded": {
    when: "A subscription began that raised the plan of the organization from another than `free`.",
    sample: SUBSCRIPTION,
  },
  "svid.issued": { when: "A workload got an X.509-SVID. JWT-SVIDs are in the audit log alone.", sample: SVID },
  "svid.revoked": { when: "An X.509-SVID was revoked, or ended with its service identity.", sample: SVID },
  "user.created": {
    when: "A person became a member of the organization.",
    sample: { user_uuid: MEMBER.user_uuid, role_id: 3, is_owner: false, status: "active" },
  },
  "user.deactivated": { when: "A membership became inactive.", sample: { ...MEMBER, status: "inactive" } },
  "user.deleted": { when: "A person is no longer a member.", sample: { ...MEMBER, status: "removed" } },
  "user.updated": {
    when: "A membership or a profile changed; of a profile, `changed` names the members.",
    sample: { user_uuid: MEMBER.user_uuid, changed: ["first_name"] },
  },
  "webhook.disabled": {
    when: "A webhook was disabled, because its endpoint is `gone` or has been `failing` for five days.",
    sample: {
      webhook_id: "6f0e2d1c-9b8a-4c7d-8e5f-3a2b1c0d4e96",
      url: "https://acme.example/hooks",
      reason: "failing",
    },
  },
  "webhook.test": {
    when: "A person asked for a test of this webhook; it is sent whatever the webhook subscribes to.",
    sample: { webhook_id: "6f0e2d1c-9b8a-4c7d-8e5f-3a2b1c0d4e96" },
  },
};
