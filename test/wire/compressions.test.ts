import { connect } from "node:http2";
import type { IncomingHttpHeaders } from "node:http2";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

const UNARY = "/atrium.access.v1.AccessService/CheckEntitlement";
const STREAM = "/atrium.auth_events.v1.AuthEventsService/ExportAuditEvents";

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await startApp();
  token = await app.login();
});
afterAll(() => app.close());

/** The first header block of the response to an empty message. */
function headersOf(path: string, headers: Record<string, string>): Promise<IncomingHttpHeaders> {
  return new Promise((resolve, reject) => {
    const session = connect(app.url);
    const stream = session.request({ ":method": "POST", ":path": path, authorization: `Bearer ${token}`, ...headers });
    stream.on("response", resolve).on("error", reject);
    stream.on("close", () => session.close()).resume();
    stream.end(Buffer.alloc(5));
  });
}

it.each<[string, string, Record<string, string>, string]>([
  [
    "gRPC",
    UNARY,
    { "content-type": "application/grpc", te: "trailers", "grpc-encoding": "br" },
    "grpc-accept-encoding",
  ],
  ["a stream of gRPC", STREAM, { "content-type": "application/grpc", "grpc-encoding": "br" }, "grpc-accept-encoding"],
  ["gRPC-Web", UNARY, { "content-type": "application/grpc-web", "grpc-encoding": "br" }, "grpc-accept-encoding"],
  ["Connect", UNARY, { "content-type": "application/proto", "content-encoding": "br" }, "accept-encoding"],
  [
    "a stream of Connect",
    STREAM,
    { "content-type": "application/connect+proto", "connect-content-encoding": "br" },
    "connect-accept-encoding",
  ],
  [
    "REST",
    "/api/entitlements/check",
    { "content-type": "application/json", "content-encoding": "br" },
    "accept-encoding",
  ],
])("the refusal of a compression over %s names the one that is taken", async (_protocol, path, sent, name) => {
  expect((await headersOf(path, sent))[name]).toBe("gzip");
});

it("the compression that is taken is named in refusals alone", async () => {
  const headers = await headersOf(UNARY, { "content-type": "application/proto" });
  expect(headers[":status"]).toBe(400);
  expect(headers["accept-encoding"]).toBeUndefined();
});

it("a compressed response that caches may keep varies by Accept-Encoding, over Connect too", async () => {
  const { org_uuid } = (await app.call("GET", "/api/auth/me", { token })).body as { org_uuid: string };
  const message = encodeURIComponent(JSON.stringify({ org_uuid }));
  for (const path of [
    `/orgs/${org_uuid}/.well-known/spiffe-bundle`,
    `/atrium.spiffe.v1.SpiffeService/GetSpiffeBundle?connect=v1&encoding=json&message=${message}`,
  ]) {
    const { headers } = await app.call("GET", path, { headers: { "accept-encoding": "gzip" } });
    expect(headers.get("cache-control"), path).toBe("public, max-age=300");
    expect([headers.get("content-encoding"), headers.get("vary")], path).toEqual([
      "gzip",
      expect.stringContaining("accept-encoding"),
    ]);
  }
});
