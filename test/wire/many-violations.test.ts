import { toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import type { Transport } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BillingService } from "../../gen/atrium/billing/v1/billing_pb.ts";
import { WebhooksService } from "../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

/** Bytes of violations that fit, in base64 and with the rest of the trailers, into the 8 KiB that clients take. */
const MOST_BYTES = 5_000;

let app: TestApp;
let token: string;
let headers: Record<string, string>;
beforeAll(async () => {
  app = await startApp();
  token = await app.login();
  headers = { authorization: `Bearer ${token}` };
});
afterAll(() => app.close());

const misspelt = Array.from({ length: 40 }, (_, at) => `user.creatd${at}`);

async function refusalOf(call: Promise<unknown>): Promise<{ code: string; fields: string[]; bytes: number }> {
  const error = ConnectError.from(await call.catch((reason: unknown) => reason));
  const [details] = error.findDetails(BadRequestSchema);
  return {
    code: Code[error.code],
    fields: details?.fieldViolations.map(({ field }) => field) ?? [],
    bytes: details === undefined ? 0 : toBinary(BadRequestSchema, details).length,
  };
}

describe.each<[string, () => Transport]>([
  ["gRPC", () => createGrpcTransport({ baseUrl: app.url })],
  ["gRPC-Web", () => createGrpcWebTransport({ baseUrl: app.url, httpVersion: "1.1" })],
  ["Connect", () => createConnectTransport({ baseUrl: app.url, httpVersion: "1.1" })],
])("over %s", (_protocol, transport) => {
  it("many items with long messages are refused with the first violations, within the size of a trailer", async () => {
    const client = createClient(WebhooksService, transport());
    const refusal = await refusalOf(client.createWebhook({ url: "https://a.test/", events: misspelt }, { headers }));
    expect(refusal.code).toBe("InvalidArgument");
    expect(refusal.fields.slice(0, 3)).toEqual(["events[0]", "events[1]", "events[2]"]);
    expect(refusal.fields.length).toBeLessThanOrEqual(20);
    expect(refusal.bytes).toBeLessThan(MOST_BYTES);
  });

  it("a thousand empty messages are refused with twenty violations", async () => {
    const client = createClient(BillingService, transport());
    const events = Array.from({ length: 1_000 }, () => ({}));
    const refusal = await refusalOf(client.recordEvents({ events }, { headers }));
    expect([refusal.code, refusal.fields.length]).toEqual(["InvalidArgument", 20]);
    expect(refusal.fields.slice(0, 3)).toEqual(["events[0].id", "events[0].event_name", "events[1].id"]);
    expect(refusal.bytes).toBeLessThan(MOST_BYTES);
  });
});

it("over REST twenty violations are reported, each with the first allowed values", async () => {
  const body = { url: "https://a.test/", events: misspelt };
  const answer = await app.call("POST", "/api/v2/webhooks", { token, body });
  const errors = answer.body.errors as { message: string }[];
  expect([answer.status, errors.length]).toEqual([400, 20]);
  expect(errors[0]?.message).toMatch(/^must be one of \*, user\.created, .+, …$/u);
  expect(errors[0]?.message.length).toBeLessThan(250);
});
