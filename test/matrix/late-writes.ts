import { getOption } from "@bufbuild/protobuf";
import { access } from "../../gen/atrium/options/v1/options_pb.ts";
import { encodePng } from "../../src/domains/users/png.ts";
import { bindings } from "../shape/contract-routes.ts";
import type { Binding } from "../shape/contract-routes.ts";
import { rpcStates } from "../shape/built.ts";
import { MASTER_KEY } from "../support/app.ts";
import { draftOf } from "../support/market.ts";
import { founder, invite, password } from "../support/people.ts";
import { codeAt } from "../mfa/support.ts";
import { oidcWrites } from "./oidc-writes.ts";
import { contentWrites } from "./content-writes.ts";
import { admin, another, call, identities, some, sql } from "./late-writes-stage.ts";
import type { Stage, Write } from "./late-writes-stage.ts";
import { account, authority, draft, factor, installOf, secret, session } from "./late-write-objects.ts";
import { kindOf, fill } from "./paths.ts";
import { apiKey, publishApp } from "./world.ts";

export type { Stage, Write } from "./late-writes-stage.ts";

/** Rpcs that only read, although by POST. */
const reads: ReadonlySet<string> = new Set([
  "POST /api/entitlements/check",
  "POST /api/entitlements/check-batch",
  "POST /api/templates/render",
  "POST /api/pricing/preview",
  "POST /api/templates/cv/generate",
  "POST /api/admin/organizations/{org_uuid}/oidc-connections/{connection_uuid}/test",
]);

/** Routes that end what other routes need, in their order, after all others. */
const last = [
  "POST /api/v1/me/mfa/recovery-codes/regenerate",
  "DELETE /api/v1/me/mfa/factors/{id}",
  "POST /api/marketplace/apps/{app_id}/archive",
  "PUT /api/profile/password",
  "DELETE /api/devices/{device_uuid}/accounts/{id}",
  "POST /api/devices/{device_uuid}/revoke-all",
  "POST /api/organizations/{org_uuid}/revoke-all-sessions",
  "DELETE /api/organizations/{org_uuid}/session-inventory",
  "POST /api/auth/logout",
  "POST /api/operator/vault/seal",
  "POST /api/operator/vault/unseal",
  "DELETE /api/organizations/{org_uuid}",
];

const nameOf = ({ method, path }: Binding): string => `${method} ${path}`;
const order = (name: string): number =>
  last.includes(name)
    ? last.indexOf(name) + 10
    : ["POST", "PUT", "PATCH", "DELETE"].findIndex((verb) => name.startsWith(verb));

/**
 * Every built route by which an authenticated caller writes, in an order in which all can succeed. Those of SCIM tokens
 * are in `test/scim/late-writes.test.ts`.
 */
export function writingRoutes(): { name: string; binding: Binding }[] {
  const built = new Set(
    rpcStates()
      .filter((state) => state.built)
      .map(({ rpc }) => rpc),
  );
  return bindings()
    .filter(
      ({ rpc, method, auth }) =>
        built.has(rpc) &&
        rpc.methodKind === "unary" &&
        method !== "GET" &&
        (!/public|mfa_token|signature|^scim$/u.test(auth) || getOption(rpc, access).bearerOptional),
    )
    .map((binding) => ({ name: nameOf(binding), binding }))
    .filter(({ name }) => !reads.has(name))
    .sort((one, other) => order(one.name) - order(other.name));
}

/** The path of a write with its ids, by default those of the organization. */
export const pathOf = ({ path }: Binding, stage: Stage, { ids = {} }: Write): string =>
  fill(path, (name) =>
    name === "productId" ? "p1" : (ids[kindOf(path, name)] ?? stage.side.ids[kindOf(path, name)] ?? ""),
  );

/** What each route needs to succeed: bodies, and objects used by it alone. */
export const writes: Readonly<Record<string, (stage: Stage) => Promise<Write> | Write>> = {
  ...contentWrites,
  "POST /api/auth/logout": () => ({}),
  "POST /api/organizations": () => ({ body: { name: `Further ${some()}` } }),
  "POST /api/auth/invite/accept": async (stage) => {
    const host = await founder(stage.app);
    return { body: { token: (await invite(stage.app, host, stage.actor.email)).token } };
  },
  "POST /api/v1/me/mfa/factors": () => ({ body: { factor_type: "totp" } }),
  "POST /api/v1/me/mfa/factors/{id}/verify": async (stage) => {
    const { id, secret } = await factor(stage);
    return { ids: { factor: id }, body: { code: codeAt(secret, stage.app.clock.now()) } };
  },
  "POST /api/v1/me/mfa/recovery-codes/regenerate": () => ({}),
  "DELETE /api/v1/me/mfa/factors/{id}": async (stage) => ({ ids: { factor: (await factor(stage)).id } }),
  "DELETE /api/users/{user_uuid}/mfa-factors": async (stage) => ({
    ids: { user_uuid: (await another(stage)).userUuid },
  }),
  "POST /api/auth/step-up/challenge": () => ({ body: { method: "password" } }),
  "POST /api/auth/step-up/verify": async (stage) => {
    const { challenge_id } = await call(
      stage,
      "POST",
      "/api/auth/step-up/challenge",
      { method: "password" },
      stage.actor.token,
    );
    return { body: { challenge_id, password } };
  },
  "DELETE /api/organizations/{org_uuid}/session-inventory/{session_id}": session,
  "DELETE /api/organizations/{org_uuid}/session-inventory": () => ({}),
  "POST /api/organizations/{org_uuid}/revoke-all-sessions": () => ({}),
  "DELETE /api/devices/{device_uuid}/session-inventory/{session_id}": session,
  "POST /api/devices/{device_uuid}/revoke-all": (stage) => ({ ids: { device_uuid: stage.device } }),
  "POST /api/devices/{device_uuid}/accounts": async (stage) => ({
    ids: { device_uuid: stage.device },
    body: { access_token: (await another(stage)).token },
  }),
  "DELETE /api/devices/{device_uuid}/accounts/{id}": (stage) => account(stage),
  "POST /api/devices/{device_uuid}/active-account": async (stage) => {
    const { ids } = await account(stage);
    return { ids: ids ?? {}, body: { account_id: ids?.["account"] } };
  },
  "POST /api/auth/switch": async (stage) => {
    const { org_uuid = "" } = await call(stage, "POST", "/api/organizations", { name: some() }, stage.actor.token);
    return { body: { org_uuid } };
  },
  "POST /api/admin/organizations/{org_uuid}/auth-events/purge": () => ({}),
  "POST /api/admin/organizations/{org_uuid}/signing-keys": () => ({ body: { algorithm: "ed25519" } }),
  "POST /api/admin/organizations/{org_uuid}/signing-keys/rotate": () => ({}),
  "POST /api/admin/organizations/{org_uuid}/signing-keys/{key_id}/sign": async (stage) => {
    const [row] = await sql(stage, "select kid from signing_keys where org_uuid = $1 and active", stage.side.owner.org);
    return { ids: { signing_key: row?.["kid"] ?? "" }, body: { payload: { sub: "x" } } };
  },
  "DELETE /api/admin/organizations/{org_uuid}/signing-keys/{key_id}": async (stage) => {
    const { key_id = "" } = await call(stage, "POST", `${admin(stage)}/signing-keys`, { algorithm: "ed25519" });
    await call(stage, "POST", `${admin(stage)}/signing-keys`, { algorithm: "ed25519" });
    return { ids: { signing_key: key_id } };
  },
  "POST /api/admin/organizations/{org_uuid}/api-keys": () => ({ body: { name: "late", scopes: ["read:users"] } }),
  "DELETE /api/admin/organizations/{org_uuid}/api-keys/{key_id}": async (stage) => ({
    ids: { api_key: (await apiKey(stage.app, stage.side.owner, ["read:users"])).id },
  }),
  "POST /api/admin/organizations/{org_uuid}/scim-tokens": () => ({ body: { name: "late" } }),
  "DELETE /api/admin/organizations/{org_uuid}/scim-tokens/{token_id}": () => ({}),
  ...oidcWrites,
  "POST /api/organizations/{org_uuid}/service-identities": () => ({ body: { name: some(), role_id: 3 } }),
  "PATCH /api/organizations/{org_uuid}/service-identities/{identity_id}": () => ({ body: { role_id: 4 } }),
  "DELETE /api/organizations/{org_uuid}/service-identities/{identity_id}": async (stage) => {
    const wish = { name: some(), role_id: 3 };
    const { identity_id = "" } = await call(stage, "POST", identities(stage), wish);
    return { ids: { identity_id } };
  },
  "POST /api/organizations/{org_uuid}/service-identities/automation-token": (stage) => ({
    body: { name: "late", identity_id: stage.side.ids["identity_id"] },
  }),
  "DELETE /api/organizations/{org_uuid}/service-identities/automation-tokens/{token_id}": () => ({}),
  "POST /api/auth/spiffe/svid": (stage) => ({ body: { service_identity_id: stage.side.ids["identity_id"] } }),
  "POST /api/auth/spiffe/jwt-svid": (stage) => ({
    body: { identity_id: stage.side.ids["identity_id"], audience: ["api"] },
  }),
  "DELETE /api/auth/spiffe/svids/{svid_id}": () => ({}),
  "POST /api/admin/organizations/{org_uuid}/mtls-ca": async (stage) => {
    await sql(stage, "update mtls_cas set deleted_at = now() where org_uuid = $1", stage.side.owner.org);
    return { body: { common_name: "late", key_algorithm: "ecdsa-p256" } };
  },
  "DELETE /api/admin/organizations/{org_uuid}/mtls-ca": async (stage) => {
    await authority(stage);
    return {};
  },
  "POST /api/admin/organizations/{org_uuid}/mtls-ca/certificates": async (stage) => {
    await authority(stage);
    return { body: { common_name: "late" } };
  },
  "DELETE /api/admin/organizations/{org_uuid}/mtls-ca/certificates/{cert_uuid}": async (stage) => {
    await authority(stage);
    const { cert_uuid = "" } = await call(stage, "POST", `${admin(stage)}/mtls-ca/certificates`, {
      common_name: some(),
    });
    return { ids: { cert_uuid } };
  },
  "POST /api/webhooks/{webhook_id}/rotate-secret": () => ({}),
  "PUT /api/roles/{role_id}/permissions": () => ({ body: { permissions: [1] } }),
  "POST /api/v2/products/{productId}/roles": () => ({ body: { name: `role ${some()}`, permissions: [] } }),
  "PUT /api/v2/organizations/{org_uuid}/users/{user_uuid}/role": () => ({ body: { roleId: 2 } }),
  "PUT /api/users/{user_uuid}/role": () => ({ body: { role: "observer" } }),
  "PATCH /api/users/{user_uuid}": async (stage) => ({
    ids: { user_uuid: (await another(stage)).userUuid },
    body: { status: "inactive" },
  }),
  "DELETE /api/users/{user_uuid}": async (stage) => ({ ids: { user_uuid: (await another(stage)).userUuid } }),
  "PUT /api/profile": () => ({ body: { first_name: some() } }),
  "PUT /api/profile/picture": () => ({
    body: encodePng(
      [
        [true, false],
        [false, true],
      ],
      8,
      [
        [255, 255, 255],
        [0, 0, 0],
      ],
    ),
    headers: { "content-type": "image/png" },
  }),
  "PUT /api/profile/password": () => ({
    body: { current_password: password, new_password: `another long one ${some()}` },
  }),
  "POST /api/admin/organizations/{org_uuid}/invitations": () => ({
    body: { email: `late${some()}@people.test`, role_id: 3 },
  }),
  "DELETE /api/admin/organizations/{org_uuid}/invitations/{invitation_id}": () => ({}),
  "PATCH /api/organizations/{org_uuid}": () => ({ body: { jit_domains: [`${some()}.test`] } }),
  "DELETE /api/organizations/{org_uuid}": () => ({}),
  "POST /api/marketplace/apps": () => ({ body: draftOf(`late-${some()}`, "http://127.0.0.1:9/provision") }),
  "PATCH /api/marketplace/apps/{app_id}": () => ({ body: { description: some() } }),
  "POST /api/marketplace/apps/{app_id}/webhook/rotate": () => ({}),
  "POST /api/marketplace/apps/{app_id}/signing-key/rotate": draft,
  "POST /api/marketplace/apps/{app_id}/listings": () => ({ body: { marketplace: "aws", external_product_id: some() } }),
  "POST /api/marketplace/apps/{app_id}/admins": (stage) => ({ body: { user_uuid: stage.side.ids["user_uuid"] } }),
  "DELETE /api/marketplace/apps/{app_id}/admins/{user_uuid}": () => ({}),
  "POST /api/marketplace/apps/{app_id}/archive": draft,
  "POST /api/marketplace/apps/{app_id}/installs/{install_id}/suspend": (stage) => installOf(stage, "active"),
  "POST /api/marketplace/apps/{app_id}/installs/{install_id}/resume": (stage) => installOf(stage, "suspended"),
  "POST /api/admin/marketplace/apps/{app_id}/approve": draft,
  "POST /api/admin/marketplace/apps/{app_id}/reject": async (stage) => ({
    ...(await draft(stage)),
    body: { reason: "no" },
  }),
  "POST /api/admin/cloud-targets/{target_id}/revoke": () => ({}),
  "POST /api/marketplace/{slug}/install": async (stage) => ({
    ids: { slug: (await publishApp(stage.app, stage.side.token, await stage.app.login())).slug },
    body: {},
  }),
  "DELETE /api/installs/{install_id}": async (stage) => {
    const { slug } = await publishApp(stage.app, stage.side.token, await stage.app.login());
    return {
      ids: { install_id: (await call(stage, "POST", `/api/marketplace/${slug}/install`, {}))["install_id"] ?? "" },
    };
  },
  "POST /api/v2/webhooks": () => ({ body: { url: "https://hooks.example.test/late", events: ["*"] } }),
  "PATCH /api/v2/webhooks/{webhook_id}": () => ({ body: { events: ["user.created"] } }),
  "DELETE /api/v2/webhooks/{webhook_id}": async (stage) => ({
    ids: {
      webhook_id:
        (await call(stage, "POST", "/api/v2/webhooks", { url: "https://hooks.example.test/x", events: ["*"] }))[
          "webhook_id"
        ] ?? "",
    },
  }),
  "POST /api/v2/webhooks/{webhook_id}/test": () => ({}),
  "POST /api/v2/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": async (stage) => {
    await sql(
      stage,
      "update webhook_deliveries set status = 'delivered', next_attempt_at = null where delivery_id = $1",
      stage.side.ids["delivery_id"],
    );
    return {};
  },
  "PUT /api/admin/organizations/{org_uuid}/secrets/{name}": () => ({ ids: { secret: some() }, body: { value: "x" } }),
  "DELETE /api/admin/organizations/{org_uuid}/secrets/{name}": async (stage) => ({
    ids: { secret: await secret(stage) },
  }),
  "POST /api/admin/organizations/{org_uuid}/secrets/{name}/restore": async (stage) => {
    const name = await secret(stage);
    await call(stage, "DELETE", `${admin(stage)}/secrets/${name}`);
    return { ids: { secret: name } };
  },
  "POST /api/admin/organizations/{org_uuid}/kms-keys/rotate": () => ({}),
  "POST /api/operator/vault/seal": () => ({}),
  "POST /api/operator/vault/unseal": async (stage) => {
    await call(stage, "POST", "/api/operator/vault/seal", undefined, await stage.app.login());
    return { body: { key: MASTER_KEY.toString("base64") } };
  },
  "POST /api/operator/config": (stage) => ({ body: { org_uuid: stage.side.owner.org, audit_retention_days: 90 } }),
};
