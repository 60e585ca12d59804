import { createServer } from "node:http2";
import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import type { Client, Interceptor } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AccessService, GetMeResponseSchema } from "../../gen/atrium/access/v1/access_pb.ts";
import { AtriumError, bearer, createAtrium } from "../../src/clients/typescript/index.ts";
import type { Atrium, AtriumOptions } from "../../src/clients/typescript/index.ts";
import { createGrpcTransport } from "../../src/clients/typescript/node/index.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { ownerOf } from "./support.ts";

describe("gRPC from Node against the service", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ env: { SERVICE_RATE_LIMITS: "off" } });
  });
  afterAll(() => app.close());

  async function signedIn(options: Partial<AtriumOptions> = {}): Promise<Atrium> {
    const transport = createGrpcTransport({ baseUrl: app.url });
    const { accessToken } = await createAtrium({ baseUrl: app.url, transport }).login.login(ownerOf(app));
    return createAtrium({ baseUrl: app.url, transport, credential: bearer(accessToken ?? ""), ...options });
  }

  it("calls succeed, many at a time, and give their headers and trailers", async () => {
    const atrium = await signedIn();
    const answers = await Promise.all(Array.from({ length: 300 }, () => atrium.access.getMe({})));
    expect(new Set(answers.map(({ email }) => email))).toEqual(new Set([app.owner.email]));
    let [requestId, status]: (string | null)[] = [null, null];
    await atrium.access.getMe(
      {},
      {
        onHeader: (headers) => (requestId = headers.get("x-request-id")),
        onTrailer: (headers) => (status = headers.get("grpc-status")),
      },
    );
    expect([requestId, status]).toEqual([expect.any(String), "0"]);
  });

  it("a refusal carries the service's code, its fields and the id of the request", async () => {
    const atrium = await signedIn();
    const refusal = await atrium.users
      .updateProfile({ firstName: "x".repeat(1_000) })
      .catch((reason: unknown) => reason);
    expect(refusal).toBeInstanceOf(AtriumError);
    expect(refusal).toMatchObject({ code: Code.InvalidArgument, status: 400, requestId: expect.any(String) as string });
    expect((refusal as AtriumError).violations).toMatchObject([{ field: "first_name" }]);
  });

  it("a request over the limit of the service is refused, and the connection stays as good as new", async () => {
    const atrium = await signedIn();
    const oversize = { firstName: "x".repeat(2 ** 21) };
    for (let i = 0; i < 20; i++)
      await expect(atrium.users.updateProfile(oversize)).rejects.toMatchObject({ code: Code.ResourceExhausted });
    expect((await atrium.access.getMe({})).email).toBe(app.owner.email);
  });

  it("calls end on an aborted signal and at their deadline", async () => {
    const atrium = await signedIn({ retries: 0 });
    const { signal } = new AbortController();
    await expect(atrium.access.getMe({}, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: Code.Canceled,
    });
    const late = new AbortController();
    const call = atrium.access.getMe({}, { signal: late.signal });
    late.abort();
    await expect(call).rejects.toMatchObject({ code: Code.Canceled });
    expect((await atrium.access.getMe({}, { signal })).email).toBe(app.owner.email);
  });

  it("interceptors see unary calls, and streams report their errors", async () => {
    const seen: string[] = [];
    const interceptor: Interceptor = (next) => (request) => {
      seen.push(request.method.name);
      return next(request);
    };
    const transport = createGrpcTransport({ baseUrl: app.url, interceptors: [interceptor] });
    const access = createClient(AccessService, transport);
    await expect(access.getMe({})).rejects.toMatchObject({ code: Code.Unauthenticated });
    expect(seen).toEqual(["GetMe"]);
    const atrium = await signedIn();
    const stream = atrium.buyer.watchInstall({ installId: crypto.randomUUID() });
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: Code.NotFound });
  });
});

describe("gRPC from Node against a server that answers otherwise", () => {
  let server: Http2Server;
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  let answer: (stream: ServerHttp2Stream) => void;
  let client: Client<typeof AccessService>;
  const me = toBinary(GetMeResponseSchema, create(GetMeResponseSchema, { email: "ada@example.com" }));
  const grpc = { ":status": 200, "content-type": "application/grpc+proto" };

  beforeAll(async () => {
    server = createServer();
    server.on("stream", (stream: ServerHttp2Stream) => {
      stream.on("error", () => undefined);
      answer(stream);
    });
    server.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    });
    server.on("session", (session: ServerHttp2Session) => sessions.add(session));
    server.on("sessionError", () => undefined);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });

  function clientOf(options: Partial<Parameters<typeof createGrpcTransport>[0]> = {}): Client<typeof AccessService> {
    const { port } = server.address() as AddressInfo;
    return createClient(
      AccessService,
      createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}/prefix/`, ...options }),
    );
  }
  beforeAll(() => {
    client = clientOf();
  });

  const frame = (bytes: Uint8Array, flag = 0): Buffer => {
    const head = Buffer.alloc(5);
    head[0] = flag;
    head.writeUInt32BE(bytes.length, 1);
    return Buffer.concat([head, bytes]);
  };
  function respond(
    stream: ServerHttp2Stream,
    bodies: readonly Buffer[],
    trailers: Readonly<Record<string, string>> = { "grpc-status": "0" },
    headers: Readonly<Record<string, string | number>> = {},
  ): void {
    stream.respond({ ...grpc, ...headers }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    for (const body of bodies) stream.write(body);
    stream.end();
  }

  it("an answer in many pieces, and one that is compressed, are read; the path has the prefix", async () => {
    const paths: unknown[] = [];
    server.once("stream", (_stream, headers) => paths.push(headers[":path"]));
    answer = (stream) =>
      respond(
        stream,
        [...frame(me)].map((byte) => Buffer.from([byte])),
      );
    expect((await client.getMe({})).email).toBe("ada@example.com");
    expect(paths).toEqual(["/prefix/atrium.access.v1.AccessService/GetMe"]);
    answer = (stream) => respond(stream, [frame(gzipSync(me), 1)], undefined, { "grpc-encoding": "gzip" });
    expect((await client.getMe({})).email).toBe("ada@example.com");
  });

  const unwanted: Readonly<Record<string, [Code, (stream: ServerHttp2Stream) => void]>> = {
    "no message": [Code.Unimplemented, (stream) => respond(stream, [])],
    "two messages": [Code.Unimplemented, (stream) => respond(stream, [frame(me), frame(me)])],
    "a message cut short": [Code.Unimplemented, (stream) => respond(stream, [frame(me).subarray(0, -1)])],
    "bytes that are no message": [Code.Internal, (stream) => respond(stream, [frame(Buffer.alloc(9, 255))])],
    "a message without a status": [Code.Internal, (stream) => respond(stream, [frame(me)], { other: "1" })],
    "a compressed message without its encoding": [Code.Internal, (stream) => respond(stream, [frame(gzipSync(me), 1)])],
    "an encoding nobody asked for": [
      Code.Internal,
      (stream) => respond(stream, [frame(me, 1)], { "grpc-status": "5" }, { "grpc-encoding": "snappy" }),
    ],
    "a broken compressed message": [
      Code.InvalidArgument,
      (stream) => respond(stream, [frame(me, 1)], undefined, { "grpc-encoding": "gzip" }),
    ],
    "an error in the trailers": [Code.NotFound, (stream) => respond(stream, [], { "grpc-status": "5" })],
    "an error in the headers alone": [
      Code.FailedPrecondition,
      (stream) => stream.respond({ ...grpc, "grpc-status": "9", "grpc-message": "no" }, { endStream: true }),
    ],
    "a page of HTML": [
      Code.Unknown,
      (stream) => respond(stream, [frame(me)], undefined, { "content-type": "text/html" }),
    ],
    "503 of a proxy": [Code.Unavailable, (stream) => stream.respond({ ":status": 503 }, { endStream: true })],
    "a refused stream": [Code.Unavailable, (stream) => stream.close(7)],
    "a canceled stream": [Code.Canceled, (stream) => stream.close(8)],
    "a stream reset by an error": [Code.Internal, (stream) => stream.close(2)],
    "a stream reset after its headers": [
      Code.Internal,
      (stream) => {
        stream.respond(grpc);
        stream.write(frame(me).subarray(0, 3), () => stream.destroy(new Error("broken")));
      },
    ],
    "a connection that ends": [
      Code.Unavailable,
      () => {
        for (const socket of sockets) socket.end();
      },
    ],
    "a connection that is cut": [
      Code.Unavailable,
      () => {
        for (const socket of sockets) socket.resetAndDestroy();
      },
    ],
    "a connection that is cut in the middle of an answer": [
      Code.Unavailable,
      (stream) => {
        stream.respond(grpc);
        stream.write(frame(me).subarray(0, 3), () => stream.session?.destroy());
      },
    ],
  };
  it.each(Object.entries(unwanted))("%s is an error, and the next call succeeds", async (_name, [code, script]) => {
    answer = script;
    await expect(client.getMe({})).rejects.toMatchObject({ code });
    answer = (stream) => respond(stream, [frame(me)]);
    expect((await client.getMe({})).email).toBe("ada@example.com");
  });

  it("an answer over readMaxBytes is refused while it comes, and compressed ones when they are opened", async () => {
    const small = clientOf({ readMaxBytes: 1_000 });
    answer = (stream) => respond(stream, [frame(Buffer.alloc(1_001))]);
    await expect(small.getMe({})).rejects.toMatchObject({ code: Code.ResourceExhausted });
    answer = (stream) =>
      respond(stream, [frame(gzipSync(Buffer.alloc(100_000)), 1)], undefined, { "grpc-encoding": "gzip" });
    await expect(small.getMe({})).rejects.toMatchObject({ code: Code.ResourceExhausted });
  });

  it("a call without an answer ends at its deadline, and the server is told; nobody there is unavailable", async () => {
    const resets: unknown[] = [];
    const told = new Promise<void>((resolve) => {
      answer = (stream) => {
        stream.on("close", () => {
          resets.push(stream.rstCode);
          resolve();
        });
      };
    });
    await expect(client.getMe({}, { timeoutMs: 50 })).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    await told;
    expect(resets).toEqual([8]);
    const away = createClient(AccessService, createGrpcTransport({ baseUrl: "http://127.0.0.1:1" }));
    await expect(away.getMe({})).rejects.toMatchObject({ code: Code.Unavailable });
  });

  it("a message over writeMaxBytes is not sent", async () => {
    answer = (stream) => stream.close(2);
    const checks = [{ feature: "sso" }];
    await expect(clientOf({ writeMaxBytes: 4 }).checkEntitlements({ checks })).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    });
  });
});
