import { randomUUID } from "node:crypto";
import { getOption } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CredentialsService } from "../../gen/atrium/credentials/v1/credentials_pb.ts";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { access } from "../../gen/atrium/options/v1/options_pb.ts";
import { openStage, sql } from "../matrix/late-writes-stage.ts";
import type { Stage } from "../matrix/late-writes-stage.ts";
import { pathOf, writes, writingRoutes } from "../matrix/late-writes.ts";
import { startMatrixApp } from "../matrix/world.ts";
import { bindings } from "../shape/contract-routes.ts";
import type { Binding } from "../shape/contract-routes.ts";
import type { TestApp } from "../support/app.ts";

let app: TestApp;
let stage: Stage;
beforeAll(async () => {
  app = await startMatrixApp();
  stage = await openStage(app);
});
afterAll(() => app.close());

const uniquely = (): string => `u${randomUUID()}`;

/** Makes another request of each body that has members. */
const different = {
  name: "another",
  url: "https://x.test/",
  email: "x@x.test",
  algorithm: "rsa4096",
  method: "totp",
  label: "x",
  user_uuid: randomUUID(),
  access_token: "x",
  account_id: randomUUID(),
  org_uuid: randomUUID(),
  price_id: 999_999,
  quote_id: randomUUID(),
  product: "another",
  marketplace: "azure",
  common_name: "another",
  payment_method_token: "pm_another",
  service_identity_id: randomUUID(),
  key: "another",
  token: "another",
  id: "another",
  from: "2026-01-01T00:00:00Z",
};
const VERIFY = "POST /api/v1/me/mfa/factors/{id}/verify";
/** Routes that need what another one does first. */
const after: Readonly<Record<string, string>> = { "POST /api/v1/me/mfa/recovery-codes/regenerate": VERIFY };

async function once(name: string, binding: Binding): Promise<void> {
  const write = (await writes[name]?.(stage)) ?? {};
  const sent = { token: stage.actor.token, body: write.body };
  expect((await app.call(binding.method, pathOf(binding, stage, write), sent)).status).toBe(binding.status);
}

const idempotent = ({ method, rpc }: Binding): boolean => method === "POST" && getOption(rpc, access).idempotent;
/** Those of SCIM are in `test/scim`, their tokens being of another kind. */
const routes = writingRoutes().filter(({ binding }) => idempotent(binding));

it("every rpc that accepts an Idempotency-Key is called here, but for those of SCIM", () => {
  const tried = new Set(routes.map(({ binding }) => binding.rpc));
  const untried = bindings().filter((binding) => idempotent(binding) && !tried.has(binding.rpc));
  expect(untried.filter(({ auth }) => auth !== "scim").map(({ rpc }) => rpc.name)).toEqual([]);
});

it.each(routes.map(({ name, binding }) => [name, binding] as const))(
  "%s under one key takes effect once and returns the same response",
  async (name, binding) => {
    const needed = writingRoutes().find((route) => route.name === after[name]);
    if (needed !== undefined) await once(needed.name, needed.binding);
    const write = (await writes[name]?.(stage)) ?? {};
    const [key, path] = [randomUUID(), pathOf(binding, stage, write)];
    const send = (body: unknown = write.body) =>
      app.call("POST", path, {
        token: stage.actor.token,
        headers: { "idempotency-key": key },
        ...(body === undefined ? {} : { body }),
      });
    const first = await send();
    expect([first.status, first.text]).toEqual([binding.status, expect.any(String)]);
    const again = await send();
    expect([again.status, again.body, again.headers.get("idempotent-replayed")]).toEqual([
      first.status,
      first.body,
      "true",
    ]);
    const parallel = await Promise.all(Array.from({ length: 5 }, () => send()));
    expect(new Set(parallel.map(({ text }) => text)).size).toBe(1);
    const body = write.body ?? {};
    if (Object.keys(body).length > 0) expect((await send({ ...body, ...different })).status).toBe(422);
    const [{ running } = { running: "" }] = await sql(
      stage,
      "select count(*)::text as running from idempotency_records where state <> 'done'",
    );
    expect(running).toBe("0");
  },
);

it.each([
  ["Connect", (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
  ["gRPC", (baseUrl: string) => createGrpcTransport({ baseUrl })],
  ["gRPC-Web", (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
] satisfies [string, (baseUrl: string) => Transport][])(
  "a key used over REST returns the stored response over %s",
  async (_protocol, transport) => {
    const [orgUuid, key] = [stage.side.owner.org, randomUUID()];
    const request = { name: uniquely(), scopes: ["read:users"] };
    const headers = { authorization: `Bearer ${stage.side.token}`, "idempotency-key": key };
    const { status, body } = await app.call("POST", `/api/admin/organizations/${orgUuid}/api-keys`, {
      token: stage.side.token,
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
