import type { RpcState } from "../shape/built.ts";
import { rpcStates } from "../shape/built.ts";
import { bindings } from "../shape/contract-routes.ts";
import type { Binding } from "../shape/contract-routes.ts";
import { fill, kindOf, parametersOf, unknownIds } from "./paths.ts";
import type { Ids } from "./world.ts";

/** A request with ids of a given organization. */
export interface Addressed {
  binding: Binding;
  /** Kinds of ids that it names, as in {@link Ids}. */
  kinds: readonly string[];
  path(ids: Ids): string;
  body(ids: Ids): unknown;
}

/** Ids in queries: field and route by kind of id. */
const queries: Readonly<Record<string, readonly string[]>> = {
  "GET /api/auth/events": ["org_uuid", "user_uuid"],
  "GET /api/admin/organizations/{org_uuid}/auth-events": ["user_uuid"],
  "GET /api/organizations/{org_uuid}/audit-events": ["user_uuid"],
  "GET /api/organizations/{org_uuid}/session-inventory": ["user_uuid", "device_uuid"],
};

/** Bodies valid enough to reach the object; ids in them count as ids of the request. */
const bodies: Readonly<Record<string, { kinds?: readonly string[]; of: (ids: Ids) => unknown }>> = {
  "POST /api/entitlements/check": { kinds: ["org_uuid"], of: (ids) => ({ feature: "sso", org_uuid: ids["org_uuid"] }) },
  "POST /api/entitlements/check-batch": {
    kinds: ["org_uuid"],
    of: (ids) => ({ checks: [{ feature: "sso", org_uuid: ids["org_uuid"] }] }),
  },
  "POST /api/admin/organizations/{org_uuid}/api-keys": { of: () => ({ name: "k", scopes: ["read:users"] }) },
  "PATCH /api/organizations/{org_uuid}/service-identities/{identity_id}": { of: () => ({ description: "taken over" }) },
  "POST /api/organizations/{org_uuid}/service-identities/automation-token": {
    kinds: ["identity_id"],
    of: (ids) => ({ name: "t", identity_id: ids["identity_id"] }),
  },
  "POST /api/auth/spiffe/svid": {
    kinds: ["identity_id"],
    of: (ids) => ({ service_identity_id: ids["identity_id"] }),
  },
  "POST /api/auth/spiffe/jwt-svid": {
    kinds: ["identity_id"],
    of: (ids) => ({ identity_id: ids["identity_id"], audience: ["api"] }),
  },
  "POST /api/admin/organizations/{org_uuid}/signing-keys": { of: () => ({ algorithm: "ed25519" }) },
  "POST /api/admin/organizations/{org_uuid}/signing-keys/{key_id}/sign": { of: () => ({ payload: { sub: "x" } }) },
  "POST /api/admin/organizations/{org_uuid}/invitations": {
    kinds: ["role_id"],
    of: (ids) => ({ email: "new@people.test", role_id: Number(ids["role_id"]) }),
  },
  "PATCH /api/marketplace/apps/{app_id}": { of: () => ({ description: "taken over" }) },
  "POST /api/marketplace/apps/{app_id}/listings": { of: () => ({ marketplace: "aws", external_product_id: "p" }) },
  "POST /api/marketplace/apps/{app_id}/admins": {
    kinds: ["user_uuid"],
    of: (ids) => ({ user_uuid: ids["user_uuid"] }),
  },
  "POST /api/v1/me/mfa/factors/{id}/verify": { of: () => ({ code: "123456" }) },
  "PUT /api/roles/{role_id}/permissions": { of: () => ({ permissions: [1] }) },
  "POST /api/v2/products/{productId}/roles": { of: () => ({ name: "r", permissions: [] }) },
  "PUT /api/v2/organizations/{org_uuid}/users/{user_uuid}/role": {
    kinds: ["role_id"],
    of: (ids) => ({ roleId: Number(ids["role_id"]) }),
  },
  "POST /api/devices/{device_uuid}/accounts": { of: (ids) => ({ access_token: ids["proof"] }) },
  "POST /api/devices/{device_uuid}/active-account": {
    kinds: ["account"],
    of: (ids) => ({ account_id: ids["account"] }),
  },
  "POST /api/auth/step-up/verify": {
    kinds: ["challenge_id"],
    of: (ids) => ({ challenge_id: ids["challenge_id"], password: "a long enough one" }),
  },
  "PUT /api/users/{user_uuid}/role": { of: () => ({ role: "admin" }) },
  "PATCH /api/users/{user_uuid}": { of: () => ({ status: "inactive" }) },
  "PATCH /api/organizations/{org_uuid}": { of: () => ({ name: "Taken over" }) },
  "POST /api/v2/webhooks": {
    kinds: ["app_id"],
    of: (ids) => ({
      url: "https://hooks.example.test/x",
      events: ["app.published"],
      scope: "app",
      app_id: ids["app_id"],
    }),
  },
  "POST /api/pricing/checkout-session": { kinds: ["quote"], of: (ids) => ({ quote_id: ids["quote"] }) },
  "PUT /api/billing/cards/default": { kinds: ["card_id"], of: (ids) => ({ card_id: ids["card_id"] }) },
  "PATCH /api/admin/organizations/{org_uuid}/oidc-connections/{connection_uuid}": {
    of: () => ({ name: "taken over" }),
  },
  // A version that no secret has, so that nothing is written under any name.
  "PUT /api/admin/organizations/{org_uuid}/secrets/{name}": {
    of: () => ({ value: "taken over", expected_version: 999 }),
  },
  "PUT /api/ops/custom-variables/{id}": { of: () => ({ value: "taken over" }) },
  "PATCH /api/templates/{id}": { of: () => ({ name: "taken over" }) },
  "POST /api/templates/render": { kinds: ["template"], of: (ids) => ({ template_id: ids["template"] }) },
  "PATCH /api/v2/webhooks/{webhook_id}": { of: () => ({ status: "disabled" }) },
};

/** Parameters that name no object of an organization, with a value. Versions name one only beside a secret. */
const shared: ReadonlyMap<string, string> = new Map([
  ...["productId", "provider", "plan", "token"].map((name) => [name, "p1"] as const),
  ["price_id", "999999"],
  ["version", "1"],
]);

/** Every built route that names an object by id, except public and signed ones. */
export function addressed(): { requests: Addressed[]; unknown: string[] } {
  const built = new Set(
    rpcStates()
      .filter((state: RpcState) => state.built)
      .map(({ rpc }) => rpc),
  );
  const unknown: string[] = [];
  const requests = bindings()
    .filter(({ rpc, auth }) => built.has(rpc) && !/^(?:public|mfa_token|scim|.*-signature)$/u.test(auth))
    .flatMap((binding): Addressed[] => {
      const { method, path } = binding;
      const key = `${method} ${path}`;
      const [query, body] = [queries[key] ?? [], bodies[key]];
      const parameters = parametersOf(path).filter((name) => !shared.has(name));
      const kinds = [...new Set([...parameters.map((name) => kindOf(path, name)), ...query, ...(body?.kinds ?? [])])];
      if (kinds.length === 0) return [];
      const strange = kinds.filter((kind) => unknownIds[kind] === undefined);
      if (strange.length > 0) {
        unknown.push(`${key}: ${strange.join(", ")}`);
        return [];
      }
      return [
        {
          binding,
          kinds,
          path(ids) {
            const filled = fill(path, (name) => shared.get(name) ?? ids[kindOf(path, name)] ?? "");
            const search = new URLSearchParams(Object.fromEntries(query.map((kind) => [kind, ids[kind] ?? ""])));
            return query.length === 0 ? filled : `${filled}?${search.toString()}`;
          },
          body: (ids) => body?.of(ids),
        },
      ];
    });
  return { requests, unknown };
}

/** Every non-empty choice of kinds that are foreign. */
export function foreignSets(kinds: readonly string[]): string[][] {
  return Array.from({ length: 2 ** kinds.length - 1 }, (_, at) => kinds.filter((_kind, bit) => ((at + 1) >> bit) & 1));
}
