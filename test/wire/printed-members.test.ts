import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, it } from "vitest";
import { GatewayService } from "../../gen/atrium/gateway/v1/gateway_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { draftOf } from "../support/market.ts";

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await startApp();
  token = await app.login();
});
afterAll(() => app.close());

/** The body of a unary call over Connect. */
async function overConnect(procedure: string, message: object): Promise<Record<string, unknown>> {
  return (await app.call("POST", `/atrium.${procedure}`, { token, body: message })).body as Record<string, unknown>;
}

it("members documented “or null” are null over Connect as over REST, in objects and in lists", async () => {
  const published = await app.call("POST", "/api/marketplace/apps", {
    token,
    body: draftOf("nulls", "https://orbit.example/"),
  });
  const app_id = published.body.app_id as string;
  const rest = await app.call("GET", "/api/marketplace/nulls", { token });
  expect(rest.body).toMatchObject({ app_id, published_at: null });
  expect(await overConnect("marketplace.v1.BuyerService/GetApp", { slug: "nulls" })).toEqual(rest.body);

  const admins = await app.call("GET", `/api/marketplace/apps/${app_id}/admins`, { token });
  expect(admins.body.data[0]).toHaveProperty("granted_at", null);
  expect(await overConnect("marketplace.v1.PublisherService/ListAdmins", { app_id })).toEqual(admins.body);
});

it("members documented “or null” are null by GET and in JSON of gRPC-Web, and absent to typed clients", async () => {
  const path = "/atrium.gateway.v1.GatewayService/GetGatewayConfig";
  const { body } = await app.call("GET", `${path}?connect=v1&encoding=json&message=%7B%7D`, { token });
  expect(body).toEqual({ provider: null, budget_usd: null });
  const web = await fetch(app.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/grpc-web+json" },
    body: Buffer.from("\0\0\0\0\u0002{}", "latin1"),
  });
  expect(await web.text()).toContain('"provider":null');
  const transport = createConnectTransport({ baseUrl: app.url, httpVersion: "1.1", useBinaryFormat: false });
  const read = await createClient(GatewayService, transport).getGatewayConfig(
    {},
    { headers: { authorization: `Bearer ${token}` } },
  );
  expect(read.provider).toBeUndefined();
});

it("members of SCIM have the names of its specification over Connect as over REST", async () => {
  const org = String(decodeJwt(token)["org"]);
  const made = await app.call("POST", `/api/admin/organizations/${org}/scim-tokens`, {
    token,
    body: { name: "idp" },
  });
  const scim = made.body.token as string;
  const users = `/scim/v2/organizations/${org}/Users`;
  const extension = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
  const resource = {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:User", extension],
    userName: "ida@corp.test",
    [extension]: { manager: { value: "7" } },
  };
  const type = { "content-type": "application/scim+json" };
  const { body } = await app.call("POST", users, { token: scim, headers: type, body: JSON.stringify(resource) });
  expect(body).toHaveProperty([extension, "manager"], { value: "7" });
  const message = { org_uuid: org, id: body.id as string };
  const over = await app.call("POST", "/atrium.scim.v1.ScimService/GetUser", { token: scim, body: message });
  expect(over.body).toHaveProperty([extension], body[extension]);
  expect(over.body).not.toHaveProperty("enterpriseUser");
});

it("metadata of events is the same over Connect as over REST", async () => {
  const { body } = await app.call("GET", "/api/auth/events", { token });
  expect(await overConnect("auth_events.v1.AuthEventsService/ListAuthEvents", {})).toEqual(body);
});
