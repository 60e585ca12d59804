import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
let token: string;
let platform: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
  token = await elevated(app, owner.token);
  platform = await app.login();
});
afterAll(() => app.close());

const EMPTY = "00000000-0000-4000-8000-000000000000";
/** Names of which nothing can be seen: spaces, a zero-width space, letters and symbols that are drawn as nothing. */
const BLANK = [" ", "\u00a0\t", "\u200b\u2060", "\u3164", "\u2800"];

const routes = (): [route: string, member: string, rest: Record<string, unknown>][] => {
  const admin = `/api/admin/organizations/${owner.org}`;
  const identities = `/api/organizations/${owner.org}/service-identities`;
  return [
    ["POST /api/templates", "name", { category: "email", variables: [] }],
    [`PATCH /api/templates/${EMPTY}`, "name", {}],
    ["POST /api/billing/metering/meters", "name", { event_name: "calls", unit: "call", aggregation: "sum" }],
    ["POST /api/ops/mcp-servers", "name", { install_command: "npx x" }],
    [`POST ${admin}/api-keys`, "name", { scopes: ["read:users"] }],
    [`POST ${admin}/scim-tokens`, "name", {}],
    [`POST ${identities}`, "name", { role_id: 3 }],
    [`PATCH ${identities}/${EMPTY}`, "name", {}],
    [`POST ${identities}/automation-token`, "name", { identity_id: EMPTY }],
    [
      `POST ${admin}/oidc-connections`,
      "name",
      {
        provider: "x",
        client_id: "x",
        client_secret: "x",
        discovery_url: "https://idp.test/.well-known/openid-configuration",
        allowed_domains: ["people.test"],
        redirect_uris: [],
      },
    ],
    [`PATCH ${admin}/oidc-connections/${EMPTY}`, "name", {}],
    [`PATCH /api/organizations/${owner.org}`, "name", {}],
    ["POST /api/v2/products/p/roles", "name", { permissions: [] }],
    ["PUT /api/profile", "first_name", {}],
  ];
};

describe("A name of which nothing can be seen", () => {
  it("returns 400 for its field on every route that gives a name", async () => {
    for (const [route, member, rest] of routes()) {
      const [method = "", path = ""] = route.split(" ");
      for (const name of BLANK) {
        const { status, body } = await app.call(method, path, { token, body: { ...rest, [member]: name } });
        expect([status, body.errors], `${route} ${JSON.stringify(name)}`).toMatchObject([400, [{ field: member }]]);
      }
    }
  });

  it("returns 400 for plans and products too", async () => {
    const price = { interval: "month", currency: "usd", unit_amount_cents: 100 };
    const refused = [
      await app.call("PUT", "/api/admin/plans/gold", { token: platform, body: { name: " ", features: [] } }),
      await app.call("POST", "/api/admin/pricing/prices", { token: platform, body: { ...price, product: "\u200b" } }),
    ];
    expect(refused.map(({ status, body }) => [status, body.errors[0].field])).toEqual([
      [400, "name"],
      [400, "product"],
    ]);
  });

  it("is no name with spaces or invisible characters among others: such a name is stored as it is given", async () => {
    const name = " \u{1f469}\u200d\u{1f4bb} é ";
    const made = await app.call("POST", `/api/organizations/${owner.org}/service-identities`, {
      token,
      body: { name, role_id: 3 },
    });
    expect(made).toMatchObject({ status: 201, body: { name } });
  });
});

describe("A number that its protobuf type cannot hold", () => {
  it("returns 400 with the bounds that its field has, over REST and Connect", async () => {
    const events = await app.call("GET", "/api/auth/events?limit=-1", { token });
    const preview = await app.call("POST", "/api/pricing/preview", { token, body: { price_id: 1, seats: -1 } });
    const connect = await app.call("POST", "/atrium.billing.v1.BillingService/PreviewPrice", {
      token,
      body: { price_id: 1, seats: 4294967296 },
    });
    expect(events).toMatchObject({
      status: 400,
      body: { message: "limit: must be from 1 to 500", errors: [{ field: "limit", message: "must be from 1 to 500" }] },
    });
    expect(preview).toMatchObject({
      status: 400,
      body: { errors: [{ field: "seats", code: "range", message: "must be from 1 to 1000000" }] },
    });
    expect([connect.status, connect.body.message]).toEqual([400, "seats: must be from 1 to 1000000"]);
  });
});
