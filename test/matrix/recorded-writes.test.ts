import { afterAll, beforeAll, expect, it } from "vitest";
import { callRest } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { violatedInvariants } from "../support/invariants.ts";
import { call, openStage, sql } from "./late-writes-stage.ts";
import type { Stage, Write } from "./late-writes-stage.ts";
import { pathOf, writes, writingRoutes } from "./late-writes.ts";
import { startMatrixApp } from "./world.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startMatrixApp();
});
afterAll(() => app.close());

/**
 * What each write records: types, with the kind where one type has several, and `elsewhere` in another log than that of
 * the writer's organization.
 */
const recorded: Readonly<Record<string, string>> = {
  "POST /api/admin/organizations/{org_uuid}/auth-events/purge": "",
  "POST /api/pricing/quote": "",
  "POST /api/pricing/checkout-session": "checkout.created",
  "POST /api/billing/cards": "card.added",
  "POST /api/admin/pricing/prices": "price.created",
  "POST /api/billing/metering/meters": "meter.created",
  "POST /api/billing/metering/events": "",
  "POST /api/billing/portal-session": "billing_portal.opened",
  "POST /api/operator/billing/reconcile": "reconciliation.requested",
  "POST /api/admin/organizations/{org_uuid}/api-keys": "credential.created:api_key",
  "POST /api/admin/organizations/{org_uuid}/scim-tokens": "credential.created:scim_token",
  "POST /api/webhooks/{webhook_id}/rotate-secret": "key.rotated:webhook_secret",
  "POST /api/ops/mcp-servers": "mcp_server.created",
  "POST /api/auth/invite/accept": "user.joined elsewhere",
  "POST /api/marketplace/{slug}/install": "install.requested",
  "POST /api/marketplace/apps": "app.created",
  "POST /api/marketplace/apps/{app_id}/webhook/rotate": "app.secret_rotated",
  "POST /api/marketplace/apps/{app_id}/installs/{install_id}/suspend": "install.suspended",
  "POST /api/marketplace/apps/{app_id}/installs/{install_id}/resume": "install.resumed",
  "POST /api/marketplace/apps/{app_id}/listings": "listing.created",
  "POST /api/marketplace/apps/{app_id}/admins": "app.admin_granted",
  "POST /api/marketplace/apps/{app_id}/signing-key/rotate": "key.rotated:app",
  "POST /api/admin/marketplace/apps/{app_id}/approve": "app.published",
  "POST /api/admin/marketplace/apps/{app_id}/reject": "app.rejected",
  "POST /api/admin/cloud-targets/{target_id}/revoke": "cloud_target.revoked, install.deprovisioning",
  "POST /api/v1/me/mfa/factors": "",
  "POST /api/v1/me/mfa/factors/{id}/verify": "mfa.enrolled",
  "POST /api/admin/organizations/{org_uuid}/mtls-ca": "ca.created",
  "POST /api/admin/organizations/{org_uuid}/mtls-ca/certificates": "certificate.issued",
  "POST /api/admin/organizations/{org_uuid}/oidc-connections": "oidc_connection.created",
  "POST /api/auth/oidc/link": "oidc_connection.linked",
  "POST /api/operator/config": "retention.updated",
  "POST /api/v2/products/{productId}/roles": "role.created",
  "POST /api/organizations/{org_uuid}/service-identities": "service_identity.created",
  "POST /api/organizations/{org_uuid}/service-identities/automation-token": "credential.created:automation_token",
  "POST /api/devices/{device_uuid}/accounts": "device.account_added",
  "POST /api/devices/{device_uuid}/active-account": "device.account_switched",
  "POST /api/auth/switch": "session.switched elsewhere",
  "POST /api/admin/organizations/{org_uuid}/signing-keys": "signing_key.created",
  "POST /api/admin/organizations/{org_uuid}/signing-keys/{key_id}/sign": "signing_key.used",
  "POST /api/admin/organizations/{org_uuid}/signing-keys/rotate": "key.rotated:signing_key",
  "POST /api/auth/spiffe/svid": "svid.issued",
  "POST /api/auth/spiffe/jwt-svid": "svid.issued",
  "POST /api/auth/step-up/challenge": "step_up.challenged",
  "POST /api/auth/step-up/verify": "step_up.verified",
  "POST /api/ops/custom-variables": "variable.created",
  "POST /api/templates": "template.created",
  "POST /api/admin/organizations/{org_uuid}/invitations": "user.invited",
  "POST /api/organizations": "organization.created elsewhere",
  "POST /api/admin/organizations/{org_uuid}/secrets/{name}/restore": "vault.secret.restored",
  "POST /api/admin/organizations/{org_uuid}/kms-keys/rotate": "key.rotated:kms_key",
  "POST /api/v2/webhooks": "webhook.created",
  "POST /api/v2/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": "",
  "POST /api/v2/webhooks/{webhook_id}/test": "",
  "PUT /api/billing/cards/default": "card.default_changed",
  "PUT /api/admin/plans/{plan}": "plan.updated",
  "PUT /api/ops/ai-gateway-config": "ai.gateway_updated",
  "PUT /api/ops/ai-routing-config": "ai.routing_updated",
  "PUT /api/roles/{role_id}/permissions": "role.updated",
  "PUT /api/v2/organizations/{org_uuid}/users/{user_uuid}/role": "role.assigned",
  "PUT /api/ops/custom-variables/{id}": "variable.updated",
  "PUT /api/profile": "profile.updated",
  "PUT /api/users/{user_uuid}/role": "role.assigned",
  "PUT /api/profile/picture": "user.picture_updated",
  "PUT /api/admin/organizations/{org_uuid}/secrets/{name}": "vault.secret.written",
  "PATCH /api/marketplace/apps/{app_id}": "app.updated",
  "PATCH /api/admin/organizations/{org_uuid}/oidc-connections/{connection_uuid}": "oidc_connection.updated",
  "PATCH /api/organizations/{org_uuid}/service-identities/{identity_id}": "service_identity.updated",
  "PATCH /api/templates/{id}": "template.updated",
  "PATCH /api/users/{user_uuid}": "session.bulk_revoked, user.updated",
  "PATCH /api/organizations/{org_uuid}": "organization.updated",
  "PATCH /api/v2/webhooks/{webhook_id}": "webhook.updated",
  "DELETE /api/billing/cards/{card_id}": "card.removed",
  "DELETE /api/billing/subscriptions/{id}": "subscription.changed",
  "DELETE /api/admin/pricing/prices/{price_id}": "price.deactivated",
  "DELETE /api/admin/organizations/{org_uuid}/api-keys/{key_id}": "credential.revoked:api_key",
  "DELETE /api/admin/organizations/{org_uuid}/scim-tokens/{token_id}": "credential.revoked:scim_token",
  "DELETE /api/ops/mcp-servers/{id}": "mcp_server.deleted",
  "DELETE /api/installs/{install_id}": "install.deprovisioning",
  "DELETE /api/marketplace/apps/{app_id}/admins/{user_uuid}": "app.admin_revoked",
  "DELETE /api/users/{user_uuid}/mfa-factors": "mfa.reset, session.bulk_revoked",
  "DELETE /api/admin/organizations/{org_uuid}/mtls-ca": "ca.deleted",
  "DELETE /api/admin/organizations/{org_uuid}/mtls-ca/certificates/{cert_uuid}": "certificate.revoked",
  "DELETE /api/admin/organizations/{org_uuid}/oidc-connections/{connection_uuid}": "oidc_connection.deleted",
  "DELETE /api/organizations/{org_uuid}/service-identities/{identity_id}": "service_identity.deleted",
  "DELETE /api/organizations/{org_uuid}/service-identities/automation-tokens/{token_id}":
    "credential.revoked:automation_token",
  "DELETE /api/organizations/{org_uuid}/session-inventory/{session_id}": "session.revoked",
  "DELETE /api/devices/{device_uuid}/session-inventory/{session_id}": "session.revoked",
  "DELETE /api/admin/organizations/{org_uuid}/signing-keys/{key_id}": "signing_key.deleted",
  "DELETE /api/auth/spiffe/svids/{svid_id}": "svid.revoked",
  "DELETE /api/ops/custom-variables/{id}": "variable.deleted",
  "DELETE /api/templates/{id}": "template.deleted",
  "DELETE /api/users/{user_uuid}": "session.bulk_revoked, user.removed",
  "DELETE /api/admin/organizations/{org_uuid}/invitations/{invitation_id}": "user.invited",
  "DELETE /api/admin/organizations/{org_uuid}/secrets/{name}": "vault.secret.deleted",
  "DELETE /api/v2/webhooks/{webhook_id}": "webhook.deleted",
  "POST /api/v1/me/mfa/recovery-codes/regenerate": "recovery_codes.regenerated",
  "DELETE /api/v1/me/mfa/factors/{id}": "mfa.disabled",
  "POST /api/marketplace/apps/{app_id}/archive": "app.archived",
  "PUT /api/profile/password": "session.bulk_revoked, session.bulk_revoked elsewhere, user.updated",
  "DELETE /api/devices/{device_uuid}/accounts/{id}": "device.account_removed",
  "POST /api/devices/{device_uuid}/revoke-all": "session.bulk_revoked",
  "POST /api/organizations/{org_uuid}/revoke-all-sessions": "session.bulk_revoked",
  "DELETE /api/organizations/{org_uuid}/session-inventory": "session.bulk_revoked",
  "POST /api/auth/logout": "session.revoked",
  "POST /api/operator/vault/seal": "vault.sealed",
  "POST /api/operator/vault/unseal": "vault.unsealed",
  "DELETE /api/organizations/{org_uuid}":
    "app.archived, install.deprovisioning, organization.deleted, session.bulk_revoked",
};

/** What each write tells webhooks; the others tell nothing. */
const announced: Readonly<Record<string, string>> = {
  "POST /api/admin/organizations/{org_uuid}/api-keys": "api_key.created",
  "POST /api/marketplace/{slug}/install": "install.provisioning",
  "POST /api/marketplace/apps/{app_id}/installs/{install_id}/suspend": "install.suspended",
  "POST /api/marketplace/apps/{app_id}/installs/{install_id}/resume": "install.resumed",
  "POST /api/admin/marketplace/apps/{app_id}/approve": "app.published",
  "POST /api/admin/cloud-targets/{target_id}/revoke": "install.deprovisioning",
  "POST /api/v1/me/mfa/factors/{id}/verify": "mfa.enrolled",
  "POST /api/admin/organizations/{org_uuid}/mtls-ca/certificates": "certificate.issued",
  "POST /api/admin/organizations/{org_uuid}/signing-keys/rotate": "signing_key.rotated",
  "POST /api/auth/spiffe/svid": "svid.issued",
  "POST /api/admin/organizations/{org_uuid}/secrets/{name}/restore": "secret.restored",
  "PUT /api/roles/{role_id}/permissions": "role.updated",
  "PUT /api/v2/organizations/{org_uuid}/users/{user_uuid}/role": "role.assigned",
  "PUT /api/profile": "user.updated",
  "PUT /api/users/{user_uuid}/role": "role.assigned",
  "PUT /api/admin/organizations/{org_uuid}/secrets/{name}": "secret.updated",
  "PATCH /api/users/{user_uuid}": "session.revoked, user.deactivated",
  "DELETE /api/admin/organizations/{org_uuid}/api-keys/{key_id}": "api_key.revoked",
  "DELETE /api/installs/{install_id}": "install.deprovisioning",
  "DELETE /api/users/{user_uuid}/mfa-factors": "session.revoked",
  "DELETE /api/admin/organizations/{org_uuid}/mtls-ca/certificates/{cert_uuid}": "certificate.revoked",
  "DELETE /api/organizations/{org_uuid}/session-inventory/{session_id}": "session.revoked",
  "DELETE /api/devices/{device_uuid}/session-inventory/{session_id}": "session.revoked",
  "DELETE /api/auth/spiffe/svids/{svid_id}": "svid.revoked",
  "DELETE /api/users/{user_uuid}": "session.revoked, user.deleted",
  "DELETE /api/admin/organizations/{org_uuid}/secrets/{name}": "secret.deleted",
  "POST /api/marketplace/apps/{app_id}/archive": "app.archived",
  "PUT /api/profile/password": "session.revoked",
  "POST /api/devices/{device_uuid}/revoke-all": "session.revoked",
  "POST /api/organizations/{org_uuid}/revoke-all-sessions": "session.revoked",
  "DELETE /api/organizations/{org_uuid}/session-inventory": "session.revoked",
  "POST /api/auth/logout": "session.revoked",
  "DELETE /api/organizations/{org_uuid}": "organization.deleted",
};

/** Number of the latest event of any log. */
async function latest(stage: Stage): Promise<string> {
  const [row] = await sql(stage, "select coalesce(max(sequence), 0)::text as latest from audit_events");
  return row?.["latest"] ?? "0";
}

/** The writer's events after one of any log, as {@link recorded} has them; another outcome than success is marked. */
async function eventsAfter(stage: Stage, sequence: string): Promise<string> {
  const { actor, side } = stage;
  const events = await sql(
    stage,
    `select distinct type || case when type ~ '^(key|credential)\\.' then ':' || (metadata->>'kind') else '' end
         || case when org_uuid = $3 then '' else ' elsewhere' end
         || case when outcome = 'success' then '' else ' ' || outcome end as event
       from audit_events where sequence > $1::bigint and actor->>'id' = $2 order by event`,
    sequence,
    actor.userUuid,
    side.owner.org,
  );
  return events.map(({ event }) => event).join(", ");
}

/** A webhook of the organization that receives every event. */
async function listen(stage: Stage): Promise<string> {
  const body = { url: "https://hooks.example.test/all", events: ["*"] };
  return (await call(stage, "POST", "/api/v2/webhooks", body))["webhook_id"] ?? "";
}

/** Types of the events that a webhook was told and that are not in `known`, which they are added to. */
async function toldSince(stage: Stage, webhookId: string, known: Set<string>): Promise<string> {
  const told = await sql(
    stage,
    "select event_id, e.type from webhook_deliveries join webhook_events e using (event_id) where webhook_id = $1",
    webhookId,
  );
  const fresh = told.filter(({ event_id: id = "" }) => !known.has(id));
  for (const { event_id: id = "" } of fresh) known.add(id);
  return [...new Set(fresh.map(({ type }) => type))].sort().join(", ");
}

it("every write is in the log of its organization, by who made it, and is told to webhooks", async () => {
  const on = await openStage(app);
  const found: Record<string, string> = {};
  const told: Record<string, string> = {};
  const [webhook, known] = [await listen(on), new Set<string>()];
  for (const { name, binding } of writingRoutes()) {
    const write: Write = (await writes[name]?.(on)) ?? {};
    const before = await latest(on);
    await toldSince(on, webhook, known);
    const { status, text } = await callRest(app.url, binding.method, pathOf(binding, on, write), {
      token: on.actor.token,
      headers: write.headers ?? {},
      ...(write.body === undefined ? {} : { body: write.body }),
    });
    found[name] = status < 300 ? await eventsAfter(on, before) : `${status} ${text}`;
    const types = await toldSince(on, webhook, known);
    if (types !== "") told[name] = types;
    await sql(on, "update sessions set revoked_at = null where uuid = $1", on.sid);
    await sql(on, "update sessions set source_uuid = null, idle_until = null where source_uuid = $1", on.sid);
  }
  expect(found).toEqual(recorded);
  expect(told).toEqual(announced);
  expect(await violatedInvariants(app.databaseUrl)).toEqual([]);
});
