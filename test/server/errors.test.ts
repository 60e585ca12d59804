import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ConnectError } from "@connectrpc/connect";
import { Code } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { as, start } from "./support.ts";
import type { Running } from "./support.ts";

/** Codes of Connect and gRPC by status and code of the contract (decisions 15.3). */
const CODES: Readonly<Record<string, string>> = {
  "400 invalid_state": "InvalidArgument",
  "401 unauthorized": "Unauthenticated",
  "403 step_up_required": "PermissionDenied",
  "404 app_not_found": "NotFound",
  "405 method_not_allowed": "InvalidArgument",
  "406 not_acceptable": "InvalidArgument",
  "409 slug_taken": "AlreadyExists",
  "409 already_installed": "AlreadyExists",
  "409 grant_exists": "AlreadyExists",
  "409 variable_exists": "AlreadyExists",
  "409 version_conflict": "Aborted",
  "409 last_owner": "FailedPrecondition",
  "410 challenge_gone": "FailedPrecondition",
  "413 payload_too_large": "ResourceExhausted",
  "415 unsupported_media_type": "InvalidArgument",
  "422 unprocessable": "FailedPrecondition",
  "423 vault_sealed": "FailedPrecondition",
  "429 too_many_attempts": "ResourceExhausted",
  "500 internal_error": "Internal",
  "501 unimplemented": "Unimplemented",
  "502 provider_error": "Unavailable",
  "503 provider_not_configured": "Unavailable",
  "504 deadline_exceeded": "DeadlineExceeded",
};

let server: Running;
const logged: Record<string, unknown>[] = [];
beforeAll(async () => {
  const { createLog } = await import("../../src/platform/log.ts");
  const log = createLog({
    level: "info",
    destination: { write: (line) => void logged.push(JSON.parse(line) as Record<string, unknown>) },
  });
  server = await start({ log });
});
afterAll(() => server.close());

const protocols = ["connect", "connect-json", "grpc", "grpc-web"] as const;

async function failure(call: Promise<unknown>): Promise<ConnectError> {
  return call.then(
    () => {
      throw new Error("the call succeeded");
    },
    (error: unknown) => error as ConnectError,
  );
}

const info = (error: ConnectError) => error.findDetails(ErrorInfoSchema)[0];

describe("REST", () => {
  test("a REST error is one flat object", async () => {
    const answer = await server.fetch("/api/hello?name=toolong", { headers: { "x-request-id": "mine-1" } });
    expect(answer.headers.get("x-request-id")).toBe("mine-1");
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(await answer.json()).toEqual({
      code: "validation_error",
      message: expect.any(String),
      type: "urn:atrium:error:validation_error",
      title: "Bad Request",
      status: 400,
      detail: expect.any(String),
      instance: "/api/hello",
      request_id: "mine-1",
      errors: [{ field: "name", code: "too_long", message: "must have at most 5 characters" }],
    });
  });

  test.each([
    ["application/problem+json", "application/problem+json"],
    ["application/json;q=0.5, application/problem+json", "application/problem+json"],
    ["application/json, application/problem+json", "application/json"],
    ["Application/Problem+JSON", "application/problem+json"],
    ["*/*", "application/json"],
    ["application/problem+json, */*", "application/problem+json"],
    ["application/problem+json;q=0.1, */*", "application/json"],
    ["application/problem+json;q=0, */*", "application/json"],
    ["application/json;q=0.5, application/*", "application/problem+json"],
    ["application/*;q=0.5, */*", "application/json"],
    ["application/json, text/plain, */*", "application/json"],
  ])("a REST error has the media type chosen by Accept: %s", async (accept, type) => {
    expect((await server.fetch("/api/nope", { headers: { accept } })).headers.get("content-type")).toBe(type);
  });

  test("a REST error has its challenge and Retry-After", async () => {
    expect((await server.fetch("/api/me")).headers.get("www-authenticate")).toBe("Bearer");
    const stepUp = await server.fetch(
      "/api/orgs/0b8f6a9e-1f5a-4c8e-9a53-0d2f6c1b7a01/things/0b8f6a9e-1f5a-4c8e-9a53-0d2f6c1b7a01",
      { token: "admin", json: {} },
    );
    expect(stepUp.headers.get("www-authenticate")).toMatch(
      /^Bearer error="insufficient_user_authentication".*max_age=900$/,
    );
    expect((await server.fetch("/api/fail/limited")).headers.get("retry-after")).toBe("3");
    expect((await server.fetch("/api/fail/away")).headers.get("retry-after")).toBe("1");
    for (const how of ["429 too_many_attempts", "503 provider_not_configured"])
      expect((await server.fetch(`/api/fail/${encodeURIComponent(how)}`)).headers.get("retry-after"), how).toBe("1");
    expect((await server.fetch("/api/me", { method: "PUT" })).headers.get("allow")).toBe("GET, HEAD, OPTIONS");
  });

  test("a request id with unsafe characters is replaced", async () => {
    const id = (await server.fetch("/api/hello", { headers: { "x-request-id": 'a"b{}' } })).headers.get("x-request-id");
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("an error contains nothing private, and the log has its cause with the request id", async () => {
    const answer = await server.fetch("/api/fail/secret", { headers: { "x-request-id": "leak" } });
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain("hunter2");
    expect(logged.find((line) => line["request_id"] === "leak" && line["level"] === "error")).toMatchObject({
      err: { message: expect.stringContaining("hunter2") },
    });
    expect(logged.find((line) => line["request_id"] === "leak" && line["level"] === "info")).toMatchObject({
      rpc: "atrium.echo.v1.EchoService/Fail",
      status: 500,
      error: "internal",
      protocol: "rest",
    });
  });

  test("an area can set the error code of an invalid body", async () => {
    expect(await (await server.fetch("/api/login", { json: { email: "x" } })).json()).toMatchObject({
      code: "bad_request",
      errors: [{ field: "email", code: "format" }],
    });
  });

  test("a deadline ends a REST call", async () => {
    const answer = await server.fetch("/api/fail/held", { headers: { "connect-timeout-ms": "50" } });
    expect(answer.status).toBe(504);
    expect(await answer.json()).toMatchObject({ code: "deadline_exceeded" });
  });
});

describe.each(protocols)("Over %s", (protocol) => {
  test("an error has code, reason, status and fields", async () => {
    const client = server.client(protocol);
    const invalid = await failure(
      client.create!({ name: "x", emails: [{ value: "a@b.c" }, { value: "nope" }] }, as("admin")),
    );
    expect(invalid.code).toBe(Code.InvalidArgument);
    expect(info(invalid)).toMatchObject({
      reason: "VALIDATION_ERROR",
      domain: "atrium",
      metadata: { http_status: "400" },
    });
    expect(invalid.findDetails(BadRequestSchema)[0]?.fieldViolations.map((violation) => violation.field)).toEqual([
      "name",
      "emails[1].value",
    ]);
    expect((await failure(client.fail!({ how: "conflict" }))).code).toBe(Code.FailedPrecondition);
    const duplicate = await failure(client.fail!({ how: "duplicate" }));
    expect([duplicate.code, info(duplicate)?.reason]).toEqual([Code.AlreadyExists, "CONFLICT"]);
    const limited = await failure(client.fail!({ how: "limited" }));
    expect([limited.code, limited.metadata.get("retry-after")]).toEqual([Code.ResourceExhausted, "3"]);
    expect((await failure(client.fail!({ how: "away" }))).code).toBe(Code.Unavailable);
    const secret = await failure(client.fail!({ how: "secret" }));
    expect([secret.code, info(secret)?.reason, secret.rawMessage.includes("hunter2")]).toEqual([
      Code.Internal,
      "INTERNAL",
      false,
    ]);
  });

  test("every status has the code of decisions 15.3, and its own code in ErrorInfo", async () => {
    const client = server.client(protocol);
    const found = await Promise.all(
      Object.keys(CODES).map(async (how) => {
        const error = await failure(client.fail!({ how }));
        expect(info(error), how).toMatchObject({
          reason: how.slice(4).toUpperCase(),
          metadata: { http_status: how.slice(0, 3) },
        });
        return [how, Code[error.code]];
      }),
    );
    expect(Object.fromEntries(found)).toEqual(CODES);
  });

  test("a deadline ends a call whose handler ignores the signal", async () => {
    const error = await failure(server.client(protocol).fail!({ how: "held" }, { timeoutMs: 100 }));
    expect(error.code).toBe(Code.DeadlineExceeded);
  });

  test("an error in the middle of a stream ends the stream with its code", async () => {
    const seen: unknown[] = [];
    const error = await failure(
      (async () => {
        for await (const message of server.client(protocol).count!({ to: 2, fail: "conflict" }))
          seen.push(message["number"]);
      })(),
    );
    expect(seen).toEqual([1, 2]);
    expect([error.code, info(error)?.reason]).toEqual([Code.FailedPrecondition, "CONFLICT"]);
  });
});

describe("Messages that cannot be read carry ErrorInfo", () => {
  const path = "/atrium.echo.v1.EchoService/Create";
  const post = (
    body: string | Uint8Array<ArrayBuffer>,
    type: string,
    headers: Record<string, string> = {},
  ): Promise<Response> =>
    server.fetch(path, { method: "POST", token: "admin", body, headers: { "content-type": type, ...headers } });
  const reasons = async (answer: Response): Promise<unknown> => {
    const body = (await answer.json()) as { code: string; details: { debug: { reason?: string } }[] };
    return [answer.status, body.code, body.details[0]?.debug.reason];
  };

  test.each([
    ["{", [400, "invalid_argument", "BAD_REQUEST"]],
    ['{"name":"abc","name":"def"}', [400, "invalid_argument", "BAD_REQUEST"]],
    ['{"first_name":"abc","firstName":"def"}', [400, "invalid_argument", "BAD_REQUEST"]],
    ['{"name":"a\\u0000bc"}', [400, "invalid_argument", "BAD_REQUEST"]],
    ['{"name":"a\\ud800bc"}', [400, "invalid_argument", "BAD_REQUEST"]],
    [`{"x":${"[".repeat(40)}${"]".repeat(40)}}`, [400, "invalid_argument", "BAD_REQUEST"]],
    ['{"name":7}', [400, "invalid_argument", "VALIDATION_ERROR"]],
    [`{"name":"${"x".repeat(1_100_000)}"}`, [429, "resource_exhausted", "PAYLOAD_TOO_LARGE"]],
  ])("unreadable Connect JSON carries ErrorInfo: case %#", async (body, expected) => {
    expect(await reasons(await post(body, "application/json"))).toEqual(expected);
  });

  test("unreadable binary, compressed and oversized messages carry ErrorInfo", async () => {
    expect(await reasons(await post(new Uint8Array([255, 255, 255]), "application/proto"))).toEqual([
      400,
      "invalid_argument",
      "BAD_REQUEST",
    ]);
    expect(await reasons(await post("{}", "application/json", { "content-encoding": "br" }))).toEqual([
      501,
      "unimplemented",
      "UNSUPPORTED_MEDIA_TYPE",
    ]);
    const bomb = gzipSync(`{"name":"${"x".repeat(2_000_000)}"}`);
    expect(await reasons(await post(bomb, "application/json", { "content-encoding": "gzip" }))).toEqual([
      429,
      "resource_exhausted",
      "PAYLOAD_TOO_LARGE",
    ]);
    expect((await post(gzipSync('{"name":"abc"}'), "application/json", { "content-encoding": "gzip" })).status).toBe(
      200,
    );
    expect(await reasons(await post("{}", "application/json", { "connect-timeout-ms": "soon" }))).toEqual([
      400,
      "invalid_argument",
      "BAD_REQUEST",
    ]);
  });

  test("unreadable JSON in envelopes of gRPC-Web carries ErrorInfo", async () => {
    const body = Buffer.from('{"name":"abc","name":"def"}');
    const envelope = Buffer.concat([Buffer.from([0, 0, 0, 0, body.length]), body]);
    const answer = await post(envelope, "application/grpc-web+json");
    expect(Buffer.from(await answer.arrayBuffer()).toString("latin1")).toMatch(
      /grpc-status: 3[\s\S]*grpc-status-details-bin: /,
    );
  });
});

test("an unknown procedure returns 404, and UNIMPLEMENTED over gRPC", async () => {
  expect((await server.fetch("/atrium.none.v1.None/None", { json: {} })).status).toBe(404);
  const grpc = await server.fetch("/atrium.none.v1.None/None", {
    method: "POST",
    headers: { "content-type": "application/grpc" },
  });
  expect([grpc.status, grpc.headers.get("grpc-status")]).toEqual([200, "12"]);
});
