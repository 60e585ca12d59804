import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callRest, startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
/** A key that has been used. */
const key = randomUUID();
const rest = "/api/v2/webhooks";
const procedure = "/atrium.webhooks.v1.WebhooksService/CreateWebhook";
const webhook = { url: "https://hooks.example/x", events: ["user.created"] };
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
  const headers = { "idempotency-key": key };
  expect((await app.call("POST", rest, { token: owner.token, body: webhook, headers })).status).toBe(201);
  expect(
    (await app.call("POST", procedure, { token: owner.token, body: webhook, headers })).headers.get(
      "idempotent-replayed",
    ),
  ).toBe("true");
});
afterAll(() => app.close());

const keys: [string, Record<string, string>][] = [
  ["without a key", {}],
  ["with a key that is new", { "idempotency-key": randomUUID() }],
  ["with a key that was used", { "idempotency-key": key }],
];
const send = (path: string, body: string | Uint8Array, headers: Record<string, string>) =>
  callRest(app.url, "POST", path, { token: owner.token, body, headers });

describe.each(keys)("A body that cannot be decoded, %s", (_which, idempotency) => {
  it.each<[string, string | Uint8Array, Record<string, string>, number, string]>([
    ["is 415 for its type", "<x/>", { "content-type": "text/xml" }, 415, "unsupported_media_type"],
    ["is 415 for its coding", "x", { "content-encoding": "br" }, 415, "unsupported_media_type"],
    ["is 400 for JSON that ends early", "{", {}, 400, "bad_request"],
    ["is 400 for a member twice", '{"url":"a","url":"b"}', {}, 400, "bad_request"],
    ["is 400 for broken gzip", gzipSync("{}").subarray(0, 12), { "content-encoding": "gzip" }, 400, "bad_request"],
    ["is 400 for a wrong type of a field", '{"url":1}', {}, 400, "validation_error"],
    ["is 413 when it is too long", new Uint8Array(2 ** 20 + 1), {}, 413, "payload_too_large"],
  ])("a body over REST %s", async (_what, body, headers, status, code) => {
    expect(await send(rest, body, { "content-type": "application/json", ...headers, ...idempotency })).toMatchObject({
      status,
      body: { code },
    });
  });

  it("a body over Connect is refused as over REST, in JSON and in binary", async () => {
    for (const [type, body] of [
      ["application/json", "{"],
      ["application/json", '{"url":1}'],
      ["application/proto", new Uint8Array([0xff])],
    ] as const) {
      const answer = await send(procedure, body, { "content-type": type, ...idempotency });
      expect(answer, type).toMatchObject({ status: 400, body: { code: "invalid_argument" } });
    }
    expect((await send(procedure, "x", { "content-type": "text/xml", ...idempotency })).status).toBe(415);
  });

  it("a body over gRPC-Web is INVALID_ARGUMENT", async () => {
    const body = new Uint8Array([0, 0, 0, 0, 1, 0xff]);
    const answer = await send(procedure, body, { "content-type": "application/grpc-web+proto", ...idempotency });
    expect(`grpc-status: ${answer.headers.get("grpc-status") ?? ""} ${answer.text}`).toMatch(/grpc-status: 3\b/u);
  });
});

it("a malformed key is refused before the body, whatever that is", async () => {
  for (const wrong of ["a b", "x".repeat(256), "ü"]) {
    for (const [body, type] of [
      ["{", "application/json"],
      ["x", "text/xml"],
    ] as const) {
      const answer = await send(rest, body, {
        "content-type": type,
        "idempotency-key": Buffer.from(wrong).toString("latin1"),
      });
      expect(answer, wrong).toMatchObject({ status: 400, body: { code: "bad_request" } });
      expect(answer.body.message).toMatch(/Idempotency-Key/u);
    }
  }
});

it("the refused requests created nothing", async () => {
  expect((await app.call("GET", rest, { token: owner.token })).body.data).toHaveLength(1);
});
