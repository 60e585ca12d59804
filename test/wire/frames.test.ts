import { connect as connectH2 } from "node:http2";
import type { IncomingHttpHeaders } from "node:http2";
import { connect } from "node:net";
import { createClient, Code, ConnectError } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AccessService } from "../../gen/atrium/access/v1/access_pb.ts";
import { AuthEventsService } from "../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { LoginService } from "../../gen/atrium/login/v1/login_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await startApp();
  token = await app.login();
});
afterAll(() => app.close());

const procedure = "/atrium.access.v1.AccessService/GetMe";
const frame = (flags: number, length: number, content: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from([flags, length >>> 24, (length >>> 16) & 255, (length >>> 8) & 255, length & 255]),
    content,
  ]);

/** gRPC status of a body sent unchanged; `closed` when the stream was reset. */
function grpc(body: Buffer, headers: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve) => {
    const session = connectH2(app.url);
    const stream = session.request({
      ":method": "POST",
      ":path": procedure,
      "content-type": "application/grpc",
      te: "trailers",
      authorization: `Bearer ${token}`,
      ...headers,
    });
    let status: string | undefined;
    const note = (block: IncomingHttpHeaders & { ":status"?: number }): void => {
      const { "grpc-status": grpcStatus, ":status": http = 200 } = block;
      if (grpcStatus !== undefined) status = [grpcStatus].join();
      else if (http !== 200) status = `HTTP ${http}`;
    };
    stream
      .on("response", note)
      .on("trailers", note)
      .on("error", () => undefined);
    stream.on("close", () => {
      session.destroy();
      resolve(status ?? "closed");
    });
    stream.resume();
    stream.end(body);
  });
}

describe("gRPC bodies", () => {
  it("a gRPC body of one empty message gets a response", async () =>
    expect(await grpc(frame(0, 0, Buffer.alloc(0)))).toBe("0"));

  it.each<[string, Buffer, Record<string, string>, RegExp]>([
    ["that is empty", Buffer.alloc(0), {}, /^(?:3|12)$/u],
    ["with half a prefix", Buffer.from([0, 0]), {}, /^3$/u],
    ["shorter than it says", frame(0, 100, Buffer.from("x")), {}, /^3$/u],
    [
      "with more than one message",
      Buffer.concat([frame(0, 0, Buffer.alloc(0)), frame(0, 0, Buffer.alloc(0))]),
      {},
      /^(?:3|12)$/u,
    ],
    ["that says it has 4 GiB", frame(0, 0xffffffff, Buffer.from("x")), {}, /^8$/u],
    ["over 1 MiB", frame(0, 1_100_000, Buffer.alloc(1_100_000)), {}, /^8$/u],
    ["that is no message", frame(0, 3, Buffer.from([0xff, 0xff, 0xff])), {}, /^3$/u],
    ["compressed without a coding", frame(1, 3, Buffer.from("xxx")), {}, /^3$/u],
    ["of broken gzip", frame(1, 3, Buffer.from("xxx")), { "grpc-encoding": "gzip" }, /^3$/u],
    ["with an unknown flag", frame(0x7e, 0, Buffer.alloc(0)), {}, /^(?:0|3)$/u],
    ["in an unknown coding", frame(0, 0, Buffer.alloc(0)), { "grpc-encoding": "br" }, /^12$/u],
    ["with a malformed deadline", frame(0, 0, Buffer.alloc(0)), { "grpc-timeout": "soon" }, /^3$/u],
    ["whose deadline is over", frame(0, 0, Buffer.alloc(0)), { "grpc-timeout": "0n" }, /^4$/u],
    [
      "of a codec there is not",
      frame(0, 0, Buffer.alloc(0)),
      { "content-type": "application/grpc+cbor" },
      /^HTTP 415$/u,
    ],
    ["without a credential", frame(0, 3, Buffer.from([0xff, 0xff, 0xff])), { authorization: "" }, /^16$/u],
  ])("a gRPC body %s has a documented status", async (_what, body, headers, status) => {
    expect(await grpc(body, headers)).toMatch(status);
    expect((await app.call("GET", "/healthz")).status).toBe(200);
  });
});

describe("Bytes that are no HTTP", () => {
  const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

  it.each<[string, Buffer]>([
    ["noise", Buffer.from(Array.from({ length: 4_000 }, (_, at) => (at * 7919) & 255))],
    [
      "noise after the preface",
      Buffer.concat([preface, Buffer.from(Array.from({ length: 4_000 }, (_, at) => (at * 7919) & 255))]),
    ],
    ["a frame that is too long", Buffer.concat([preface, settings, Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1])])],
    ["data on stream 0", Buffer.concat([preface, settings, Buffer.from([0, 0, 1, 0, 0, 0, 0, 0, 0, 65])])],
    [
      "data on a stream that was never opened",
      Buffer.concat([preface, settings, Buffer.from([0, 0, 1, 0, 1, 0, 0, 0, 5, 65])]),
    ],
    [
      "a header block that is no HPACK",
      Buffer.concat([preface, settings, Buffer.from([0, 0, 4, 1, 5, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff])]),
    ],
    ["a window of zero", Buffer.concat([preface, settings, Buffer.from([0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0])])],
    ["a continuation of nothing", Buffer.concat([preface, settings, Buffer.from([0, 0, 1, 9, 4, 0, 0, 0, 1, 0])])],
    ["a preface that breaks off", preface.subarray(0, 20)],
  ])("%s end their connection, and the service continues", async (_what, bytes) => {
    const { port } = new URL(app.url);
    const socket = connect(Number(port), "127.0.0.1");
    const over = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => undefined).resume();
    socket.write(bytes);
    const patience = setTimeout(() => socket.end(), 500);
    await over;
    clearTimeout(patience);
    expect((await app.call("GET", "/healthz")).status).toBe(200);
  });
});

describe("Idle connections", () => {
  it("1,000 idle connections do not delay requests of others", async () => {
    const { port } = new URL(app.url);
    const sockets = Array.from({ length: 1_000 }, () =>
      connect({ port: Number(port), host: "127.0.0.1", localAddress: "127.0.0.2" }).on("error", () => undefined),
    );
    await Promise.all(
      sockets.map((socket) => new Promise((resolve) => socket.once("connect", resolve).once("close", resolve))),
    );
    expect((await app.call("GET", "/api/auth/me", { token })).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });
});

describe.each(["Connect", "gRPC", "gRPC-Web"])("Over %s", (protocol) => {
  const client = () => {
    const options = {
      baseUrl: app.url,
      interceptors: [
        (next: (request: never) => Promise<never>) => (request: { header: Headers }) => (
          request.header.has("authorization") ? null : request.header.set("authorization", `Bearer ${token}`),
          next(request as never)
        ),
      ] as never,
    };
    return protocol === "Connect"
      ? createConnectTransport({ ...options, httpVersion: "1.1" })
      : protocol === "gRPC"
        ? createGrpcTransport(options)
        : createGrpcWebTransport({ ...options, httpVersion: "1.1" });
  };

  it("the response to the caller has the same fields as over REST", async () => {
    const { body } = await app.call("GET", "/api/auth/me", { token });
    expect(await createClient(AccessService, client()).getMe({})).toMatchObject({
      userUuid: body.user_uuid,
      orgUuid: body.org_uuid,
      email: body.email,
      platformAdmin: true,
    });
    expect(
      (await createClient(AuthEventsService, client()).listAuthEvents({ type: "login.password", limit: 1 })).data,
    ).toHaveLength(1);
  });

  it("errors carry the code of REST", async () => {
    const failure = async (call: Promise<unknown>): Promise<ConnectError> =>
      ConnectError.from(
        await call.then(
          () => new Error("no failure"),
          (error: unknown) => error,
        ),
      );
    const login = createClient(LoginService, client());
    expect((await failure(login.login({ email: "x@y.test", password: "wrong", orgName: "Acme" }))).code).toBe(
      Code.Unauthenticated,
    );
    expect((await failure(login.login({ email: "x@y.test" }))).code).toBe(Code.InvalidArgument);
    expect((await failure(createClient(AuthEventsService, client()).listAuthEvents({ type: "nope" }))).code).toBe(
      Code.InvalidArgument,
    );
    expect(
      (await failure(createClient(AccessService, client()).getMe({}, { headers: { authorization: "Bearer x" } }))).code,
    ).toBe(Code.Unauthenticated);
  });
});
