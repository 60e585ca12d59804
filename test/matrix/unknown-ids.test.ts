import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestApp } from "../support/app.ts";
import { outcome } from "../support/people.ts";
import { bindings } from "../shape/contract-routes.ts";
import type { Binding } from "../shape/contract-routes.ts";
import { openStage, some } from "./late-writes-stage.ts";
import type { Stage, Write } from "./late-writes-stage.ts";
import { writes } from "./late-writes.ts";
import { fill, kindOf, nothingFor, parametersOf, unknownIds } from "./paths.ts";
import { forAll } from "./send.ts";
import { startMatrixApp } from "./world.ts";
import type { Ids } from "./world.ts";

let app: TestApp;
let stage: Stage;
beforeAll(async () => {
  app = await startMatrixApp();
  stage = await openStage(app);
});
afterAll(() => app.close());

/** Codes of the 404 by kind of id, where the area has its own (decisions 1.6); the others say `not_found`. */
const codes: Readonly<Record<string, string>> = {
  app_id: "app_not_found",
  slug: "app_not_found",
  install_id: "install_not_found",
  role_id: "role_not_found",
  user_uuid: "user_not_found",
  card_id: "card_not_found",
  price_id: "price_not_found",
  template: "template_not_found",
  invitation_id: "invitation_not_found",
  token: "invitation_not_found",
  target_id: "target_not_found",
  signing_key: "key_not_found",
  secret: "secret_not_found",
  secret_version: "secret_not_found",
  provider: "provider_unknown",
};
/** Outcomes other than 404, by route. */
const special: Readonly<Record<string, string>> = {
  // Says nothing to who has not signed.
  "POST /api/marketplace/installs/{install_id}/provisioning": "401 unauthorized",
  "GET /api/auth/oidc/{connection_uuid}/authorize": "400 invalid_connection",
  "GET /api/auth/oidc/{connection_uuid}/callback": "400 invalid_connection",
};
/** Routes that make what is not there. */
const making: ReadonlySet<string> = new Set([
  "PUT /api/admin/plans/{plan}",
  "PUT /api/admin/organizations/{org_uuid}/secrets/{name}",
]);
/** Requests of routes that have none among {@link writes}. */
const requests: Readonly<Record<string, Write>> = {
  "POST /api/auth/oidc/{connection_uuid}/backchannel-logout": {
    body: "logout_token=x",
    headers: { "content-type": "application/x-www-form-urlencoded" },
  },
};

/** Parameters of any value, and the organization, which the matrix varies. */
const shared: ReadonlySet<string> = new Set(["org_uuid", "productId"]);
const routes = bindings()
  .filter(({ auth, method, path }) => auth !== "scim" && !making.has(`${method} ${path}`))
  .flatMap((binding) =>
    parametersOf(binding.path)
      .filter((parameter) => !shared.has(parameter))
      .map((parameter) => ({ binding, parameter, key: `${binding.method} ${binding.path}` })),
  );

it("every route says 404 in the code of its area for an id of no object, beside others that exist", async () => {
  const faults = await forAll(
    routes,
    async ({ binding: { method, path, rpc }, parameter, key }) => {
      const { body, headers } = (method === "GET" ? undefined : await writes[key]?.(stage)) ?? requests[key] ?? {};
      const nothing = nothingFor(rpc, path, parameter);
      const ids: Ids = { ...stage.side.ids, device_uuid: stage.device };
      const filled = fill(path, (name) =>
        name === parameter ? nothing : (ids[kindOf(path, name)] ?? nothingFor(rpc, path, name)),
      );
      const sent = { token: stage.actor.token, body, ...(headers && { headers }) };
      const found = outcome(await app.call(method, filled, sent));
      const expected = special[key] ?? `404 ${codes[kindOf(path, parameter)] ?? "not_found"}`;
      return found === expected ? [] : [`${key}, ${parameter}: ${found} instead of ${expected}`];
    },
    1,
  );
  expect(faults.flat()).toEqual([]);
  expect(routes.length).toBeGreaterThan(90);
});

const NOTHING = unknownIds["user_uuid"];
/** Bodies that name an object by id, by route, with what an unknown id is refused with. */
const named: readonly [route: string, body: object, outcome: string][] = [
  ["POST /api/organizations/{org_uuid}/service-identities", { name: some(), role_id: 999_999 }, "400 invalid_role"],
  ["PATCH /api/organizations/{org_uuid}/service-identities/{identity_id}", { role_id: 999_999 }, "400 invalid_role"],
  [
    "POST /api/organizations/{org_uuid}/service-identities/automation-token",
    { name: "t", identity_id: NOTHING },
    "404 not_found",
  ],
  ["POST /api/auth/spiffe/svid", { service_identity_id: NOTHING }, "404 not_found"],
  ["POST /api/auth/spiffe/jwt-svid", { identity_id: NOTHING, audience: ["a"] }, "404 not_found"],
  [
    "POST /api/admin/organizations/{org_uuid}/invitations",
    { email: "new@ids.test", role_id: 999_999 },
    "404 role_not_found",
  ],
  ["POST /api/marketplace/apps/{app_id}/admins", { user_uuid: NOTHING }, "404 user_not_found"],
  ["POST /api/devices/{device_uuid}/active-account", { account_id: NOTHING }, "404 not_found"],
  ["POST /api/auth/step-up/verify", { challenge_id: NOTHING, password: "x" }, "404 not_found"],
  ["PUT /api/v2/organizations/{org_uuid}/users/{user_uuid}/role", { roleId: 999_999 }, "404 role_not_found"],
  ["PUT /api/users/{user_uuid}/role", { role: "none" }, "404 role_not_found"],
  ["PUT /api/roles/{role_id}/permissions", { permissions: [999_999] }, "400 permission_not_found"],
  [
    "POST /api/v2/products/{productId}/roles",
    { name: some(), permissions: [{ id: 999_999 }] },
    "400 permission_not_found",
  ],
  [
    "POST /api/v2/webhooks",
    { url: "https://hooks.example.test/x", events: ["app.published"], scope: "app", app_id: NOTHING },
    "404 app_not_found",
  ],
  ["POST /api/pricing/preview", { price_id: 999_999 }, "404 price_not_found"],
  ["POST /api/pricing/quote", { price_id: 999_999 }, "404 price_not_found"],
  ["POST /api/pricing/quote", { install_id: NOTHING }, "404 install_not_found"],
  ["POST /api/pricing/checkout-session", { quote_id: NOTHING }, "404 not_found"],
  ["PUT /api/billing/cards/default", { card_id: NOTHING }, "404 card_not_found"],
  ["POST /api/billing/cards", { provider: "none", payment_method_token: "pm_x" }, "404 provider_unknown"],
  ["POST /api/billing/metering/events", { id: "x", event_name: "none" }, "404 not_found"],
  ["POST /api/templates/render", { template_id: NOTHING }, "404 template_not_found"],
  ["POST /api/operator/config", { org_uuid: NOTHING, audit_retention_days: 90 }, "404 not_found"],
  ["POST /api/auth/switch", { org_uuid: NOTHING }, "404 org_not_found"],
  ["PATCH /api/organizations/{org_uuid}", { plan: "none" }, "400 invalid_plan"],
];

it.each(named)("%s with %j, whose object does not exist, is %s", async (route, body, expected) => {
  const binding = bindings().find(({ method, path }) => `${method} ${path}` === route) as Binding;
  const { method, path } = binding;
  const ids: Ids = { ...stage.side.ids, device_uuid: stage.device };
  const filled = fill(path, (name) => ids[kindOf(path, name)] ?? "p1");
  expect(outcome(await app.call(method, filled, { token: stage.actor.token, body }))).toBe(expected);
});
