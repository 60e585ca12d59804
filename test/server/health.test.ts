import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { Health } from "../../gen/health/v1/health_pb.ts";
import { start } from "./support.ts";
import type { Running } from "./support.ts";

let server: Running;
beforeAll(async () => void (server = await start()));
afterAll(() => server.close());

const CHECK = "/grpc.health.v1.Health/Check";

test.each<[string, string, Record<string, string>, number, string, string]>([
  ["an unknown service", '{"service":"nope"}', {}, 404, "not_found", "NOT_FOUND"],
  ["JSON that ends early", "{", {}, 400, "invalid_argument", "BAD_REQUEST"],
  ["a malformed deadline", "{}", { "connect-timeout-ms": "soon" }, 400, "invalid_argument", "BAD_REQUEST"],
  ["an unknown coding", "{}", { "content-encoding": "br" }, 501, "unimplemented", "UNSUPPORTED_MEDIA_TYPE"],
  ["a body over 64 KiB", `"${"x".repeat(65_536)}"`, {}, 429, "resource_exhausted", "PAYLOAD_TOO_LARGE"],
  ["another content type", "{}", { "content-type": "text/xml" }, 415, "invalid_argument", "UNSUPPORTED_MEDIA_TYPE"],
])(
  "the health service over Connect refuses %s with its own code",
  async (_what, body, headers, status, code, reason) => {
    const sent = { "content-type": "application/json", ...headers };
    const answer = await server.fetch(CHECK, { method: "POST", headers: sent, body });
    const error = (await answer.json()) as { code: string; details: { value: string }[] };
    expect([answer.status, error.code]).toEqual([status, code]);
    const [detail] = error.details;
    expect(fromBinary(ErrorInfoSchema, Buffer.from(detail?.value ?? "", "base64"))).toMatchObject({ reason });
  },
);

test.each(["connect", "grpc", "grpc-web"] as const)("an unknown service is NOT_FOUND over %s", async (protocol) => {
  const client = server.client(protocol, Health);
  const error = await client["check"]?.({ service: "nope" }).catch((reason: unknown) => reason);
  expect(ConnectError.from(error)).toMatchObject({ code: Code.NotFound, rawMessage: "unknown service" });
  expect(await client["check"]?.({ service: "" })).toMatchObject({ status: 1 });
});
