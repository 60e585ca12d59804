import { randomUUID } from "node:crypto";
import { getOption } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CredentialsService } from "../../gen/atrium/credentials/v1/credentials_pb.ts";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { access } from "../../gen/atrium/options/v1/options_pb.ts";
import { fill, kindOf } from "../matrix/paths.ts";
import { platformAdmin, populate, publishApp, startMatrixApp } from "../matrix/world.ts";
import type { Side } from "../matrix/world.ts";
import { bindings } from "../shape/contract-routes.ts";
import { draftOf } from "../support/market.ts";
import { founder } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import type { TestApp } from "../support/app.ts";

let app: TestApp;
let side: Side;
let shop: string;
beforeAll(async () => {
  app = await startMatrixApp();
  const { token } = await platformAdmin(app);
  const [first, second] = [await publishApp(app, token, token), await publishApp(app, token, token)];
  shop = second.slug;
  side = await populate(app, first.slug);
  await runSql(app.databaseUrl, "update webhook_deliveries set status = 'failed', next_attempt_at = null");
});
afterAll(() => app.close());

const uniquely = (): string => `u${randomUUID()}`;

/** A body for each rpc that takes an Idempotency-Key and is built. */
const bodies: Readonly<Record<string, () => object | undefined>> = {
  CreateApiKey: () => ({ name: uniquely(), scopes: ["read:users"] }),
  CreateScimToken: () => ({ name: uniquely() }),
  RotateWebhookSecret: () => undefined,
  InstallApp: () => ({}),
  PublishApp: () => draftOf(uniquely(), "http://127.0.0.1:9/x"),
  CreateListing: () => ({ marketplace: "aws", external_product_id: uniquely() }),
  GrantAdmin: () => ({ user_uuid: side.ids["user_uuid"] }),
  CreateFactor: () => ({ factor_type: "totp" }),
  CreateProductRole: () => ({ name: uniquely(), permissions: [] }),
  AddDeviceAccount: () => ({ access_token: side.ids["proof"] }),
  CreateSigningKey: () => ({ algorithm: "ed25519" }),
  RotateSigningKey: () => undefined,
  RotateKmsKey: () => undefined,
  CreateChallenge: () => ({ method: "password" }),
  CreateInvitation: () => ({ email: `${uniquely()}@people.test`, role_id: 3 }),
  CreateOrganization: () => ({ name: uniquely() }),
  CreateWebhook: () => ({ url: "https://hooks.example.test/other", events: ["*"] }),
  Redeliver: () => undefined,
  TestWebhook: () => undefined,
};
/** Changes each of these bodies into another request. */
const different = {
  name: "another",
  url: "https://x.test/",
  email: "x@x.test",
  algorithm: "rsa4096",
  method: "totp",
  label: "x",
  user_uuid: randomUUID(),
  access_token: "x",
  marketplace: "x",
};
/** Requires a second factor, which no person of this test has. */
const elsewhere: ReadonlySet<string> = new Set(["RegenerateRecoveryCodes"]);

const routes = bindings().filter(({ method, rpc }) => method === "POST" && getOption(rpc, access).idempotent);

it.each(
  routes
    .filter(({ rpc }) => rpc.name in bodies)
    .map((binding) => [`${binding.method} ${binding.path}`, binding] as const),
)("%s under one key takes effect once and returns the same response", async (_name, { rpc, path }) => {
  const ids: Record<string, string> = { ...side.ids, slug: shop };
  const filled = fill(path, (name) => ids[kindOf(path, name)] ?? "main");
  const [key, body] = [randomUUID(), bodies[rpc.name]?.()];
  const send = (sent: unknown = body) =>
    app.call("POST", filled, {
      token: side.elevated,
      headers: { "idempotency-key": key },
      ...(sent === undefined ? {} : { body: sent }),
    });
  const first = await send();
  expect([first.status, first.text]).toEqual([expect.toSatisfy((status: number) => status < 300), expect.any(String)]);
  const again = await send();
  expect([again.status, again.body, again.headers.get("idempotent-replayed")]).toEqual([
    first.status,
    first.body,
    "true",
  ]);
  const parallel = await Promise.all(Array.from({ length: 5 }, () => send()));
  expect(new Set(parallel.map(({ text }) => text)).size).toBe(1);
  if (body !== undefined && Object.keys(body).length > 0)
    expect((await send({ ...body, ...different })).status).toBe(422);
  const [{ running } = { running: -1 }] = await runSql<{ running: number }>(
    app.databaseUrl,
    "select count(*)::int as running from idempotency_records where state <> 'done'",
  );
  expect(running).toBe(0);
});

it.each([
  ["Connect", (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
  ["gRPC", (baseUrl: string) => createGrpcTransport({ baseUrl })],
  ["gRPC-Web", (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
] satisfies [string, (baseUrl: string) => Transport][])(
  "a key used over REST returns the stored response over %s",
  async (_protocol, transport) => {
    const [orgUuid, key] = [side.ids["org_uuid"] ?? "", randomUUID()];
    const request = { name: uniquely(), scopes: ["read:users"] };
    const headers = { authorization: `Bearer ${side.elevated}`, "idempotency-key": key };
    const { status, body } = await app.call("POST", `/api/admin/organizations/${orgUuid}/api-keys`, {
      token: side.elevated,
      body: request,
      headers: { "idempotency-key": key },
    });
    expect(status).toBe(201);
    const client = createClient(CredentialsService, transport(app.url));
    let replayed: string | null = null;
    const again = await client.createApiKey(
      { orgUuid, ...request },
      { headers, onHeader: (header) => (replayed = header.get("idempotent-replayed")) },
    );
    expect([again.apiKey, again.keyId, replayed]).toEqual([body.api_key, body.key_id, "true"]);
    const another = ConnectError.from(
      await client.createApiKey({ orgUuid, ...request, name: "another" }, { headers }).catch((error: unknown) => error),
    );
    expect([another.code, another.findDetails(ErrorInfoSchema)[0]?.reason]).toEqual([
      Code.FailedPrecondition,
      "IDEMPOTENCY_MISMATCH",
    ]);
  },
);

it("every rpc that accepts an Idempotency-Key is called here or not built yet", async () => {
  const { token } = await founder(app);
  const untried = routes.filter(
    ({ rpc }) =>
      !(rpc.name in bodies) && !elsewhere.has(rpc.name) && rpc.parent.typeName !== "atrium.scim.v1.ScimService",
  );
  for (const { rpc } of untried) {
    const { status } = await app.call("POST", `/${rpc.parent.typeName}/${rpc.name}`, { token, body: {} });
    expect([501, 400, 403, 404], rpc.name).toContain(status);
  }
});
