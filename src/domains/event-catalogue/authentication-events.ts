import { authentication } from "./row.ts";

/** Events of both logs, in the order of the interface's Events section. */
export const AUTHENTICATION_EVENTS = {
  "login.password": authentication("login.password"),
  "login.magic_link": authentication("login.magic_link"),
  "login.oidc": authentication("login.oidc"),
  "login.saml": authentication("login.saml"),
  "login.totp_verify": authentication("login.totp_verify"),
  "login.recovery_code": authentication("login.recovery_code"),
  "session.revoked": authentication("session.revoked", {
    resource: "session",
    webhook: "session.revoked",
    data: {
      reason: "string",
      session_id: "uuid?",
      session_ids: "uuid[]?",
      revoked: "integer?",
      user_uuid: "uuid?",
      device_uuid: "uuid?",
    },
  }),
  "session.bulk_revoked": authentication("session.bulk_revoked"),
  "token.refreshed": authentication("token.refreshed"),
  "mfa.enrolled": authentication("mfa.enrolled", {
    resource: "mfa_factor",
    webhook: "mfa.enrolled",
    data: { factor_id: "integer", factor_type: "string", user_uuid: "uuid" },
  }),
  "mfa.disabled": authentication("mfa.disabled", {
    resource: "mfa_factor",
    webhook: "mfa.disabled",
    data: { factor_id: "integer", factor_type: "string", user_uuid: "uuid", reason: "string?" },
  }),
  "step_up.challenged": authentication("step_up.challenged"),
  "step_up.verified": authentication("step_up.verified"),
  "step_up.failed": authentication("step_up.failed"),
  "svid.issued": authentication("svid.issued", {
    resource: "svid",
    webhook: "svid.issued",
    data: { svid_id: "uuid", spiffe_id: "string" },
  }),
  "svid.revoked": authentication("svid.revoked", {
    resource: "svid",
    webhook: "svid.revoked",
    data: { svid_id: "uuid", spiffe_id: "string" },
  }),
  "app.key_rotated": authentication("key.rotated", { resource: "app" }),
  "kms_key.rotated": authentication("key.rotated", { resource: "kms_key" }),
  "webhook.secret_rotated": authentication("key.rotated", { resource: "webhook" }),
  "signing_key.rotated": authentication("key.rotated", {
    resource: "signing_key",
    webhook: "signing_key.rotated",
    data: { key_id: "string", previous_key_id: "string", previous_key_expires_at: "timestamp" },
  }),
} as const;
