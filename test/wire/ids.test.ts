import { createClient } from "@connectrpc/connect";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CredentialsService } from "../../gen/atrium/credentials/v1/credentials_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
});
afterAll(() => app.close());

const as = () => ({ headers: { authorization: `Bearer ${owner.token}` } });
const over = (transport: Transport) => createClient(CredentialsService, transport);
const keysOf = (org: string) => `/api/admin/organizations/${org}/api-keys`;

it.each<[string, (orgUuid: string, keyId: string) => Promise<unknown>]>([
  ["REST", (org, id) => app.call("DELETE", `${keysOf(org)}/${id}`, { token: owner.token })],
  [
    "Connect",
    (orgUuid, keyId) =>
      over(createConnectTransport({ baseUrl: app.url, httpVersion: "1.1" })).revokeApiKey({ orgUuid, keyId }, as()),
  ],
  ["gRPC", (orgUuid, keyId) => over(createGrpcTransport({ baseUrl: app.url })).revokeApiKey({ orgUuid, keyId }, as())],
])("over %s, an id in upper case is recorded in lower case", async (_protocol, revoke) => {
  const made = await app.call("POST", keysOf(owner.org), {
    token: owner.token,
    body: { name: "k", scopes: ["read:users"] },
  });
  const keyId = made.body.key_id as string;
  await revoke(owner.org.toUpperCase(), keyId.toUpperCase());
  const [event] = await auditOf(app, owner, "credential.revoked");
  expect(event).toMatchObject({ resource_id: keyId, metadata: { key_id: keyId } });
});

it("a request with an id in upper case is replayed by its Idempotency-Key", async () => {
  const path = `/api/organizations/${owner.org}/service-identities`;
  const identity = await app.call("POST", path, { token: owner.token, body: { name: "robot", role_id: 3 } });
  const post = () =>
    app.call("POST", `${path}/automation-token`, {
      token: owner.token,
      headers: { "idempotency-key": "upper" },
      body: { name: "t", identity_id: (identity.body.identity_id as string).toUpperCase() },
    });
  const [first, second] = [await post(), await post()];
  expect(first.status).toBe(201);
  expect(second).toMatchObject({ status: 201, body: first.body });
  expect(second.headers.get("idempotent-replayed")).toBe("true");
});
