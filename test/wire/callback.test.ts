import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signDelivery } from "../../src/platform/outgoing/signature.ts";
import { callRest, startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";

let app: TestApp;
beforeAll(async () => void (app = await startApp()));
afterAll(() => app.close());

const unknown = randomUUID();
const report = (
  id: string,
  headers: Record<string, string>,
  body: string | Uint8Array = '{"status":"active"}',
): Promise<Answer> => callRest(app.url, "POST", `/api/marketplace/installs/${id}/provisioning`, { body, headers });

/** Correctly signed, with a secret of no app. */
const signed = (body: string): Record<string, string> => ({
  ...signDelivery({ id: "msg_1", timestamp: Math.floor(app.clock.now() / 1000), body, secrets: ["whsec_c2VjcmV0"] }),
});

describe("The report of a publisher", () => {
  it.each<[string, string, () => Record<string, string>, string | Uint8Array]>([
    ["of an unknown install", unknown, () => ({}), '{"status":"active"}'],
    ["of an unknown install, signed", unknown, () => signed('{"status":"active"}'), '{"status":"active"}'],
    ["of a malformed id", "x", () => ({}), '{"status":"active"}'],
    ["of a malformed id, signed", "x", () => signed("{}"), "{}"],
    ["of an id that cannot be decoded", "%ff", () => ({}), "{}"],
    ["of an id with a NUL, signed", "%00", () => signed("{}"), "{}"],
    ["that is no JSON", unknown, () => ({}), "{"],
    ["that is no JSON, signed", unknown, () => signed("{"), "{"],
    ["that is too long", unknown, () => ({}), new Uint8Array(2 ** 20 + 1)],
    ["of a strange type", unknown, () => ({ "content-type": "image/png" }), "x"],
    ["in a strange coding", unknown, () => ({ "content-encoding": "br" }), "x"],
    ["with half of a signature", unknown, () => ({ "webhook-id": "msg_1", "webhook-timestamp": "1" }), "{}"],
    ["with an empty signature", unknown, () => ({ "service-signature": "" }), "{}"],
  ])("a report %s is refused with one and the same 401", async (_what, id, headers, body) => {
    const answer = await report(id, headers(), body);
    expect(answer).toMatchObject({
      status: 401,
      body: { code: "unauthorized", message: "The signature is missing or wrong, or the install is not known." },
    });
  });

  it("a report is refused alike over Connect and gRPC-Web", async () => {
    const path = "/atrium.marketplace.v1.PublisherService/ReportProvisioning";
    for (const install_id of ["x", "", unknown]) {
      for (const headers of [{}, signed("{}")]) {
        const answer = await app.call("POST", path, { body: { install_id, body: { data: "e30=" } }, headers });
        expect(answer, JSON.stringify({ install_id, headers })).toMatchObject({
          status: 401,
          body: { code: "unauthenticated" },
        });
      }
    }
    const grpc = await fetch(app.url + path, {
      method: "POST",
      headers: { "content-type": "application/grpc-web+proto" },
      body: new Uint8Array(5),
    });
    expect((await grpc.text()) + (grpc.headers.get("grpc-status") ?? "")).toMatch(/grpc-status: 16|^16$/u);
  });
});
