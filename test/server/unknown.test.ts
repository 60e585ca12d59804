import { Client, credentials, Metadata, status as GrpcStatus } from "@grpc/grpc-js";
import type { ServiceError } from "@grpc/grpc-js";
import { connect as connectH2 } from "node:http2";
import type { IncomingHttpHeaders } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { start } from "./support.ts";
import type { Running } from "./support.ts";

let server: Running;
beforeAll(async () => void (server = await start()));
afterAll(() => server.close());

/** Paths of unknown procedures: a method, a service of a known package, a package. */
const unknown = [
  "/atrium.echo.v1.EchoService/Nope",
  "/atrium.echo.v1.NoService/Hello",
  "/grpc.channelz.v1.Channelz/GetServers",
  "/elsewhere.v1.Service/Method",
];

/** How stock `@grpc/grpc-js` reads a unary call with one empty message. */
function grpcCall(path: string, message = Buffer.alloc(0)): Promise<ServiceError> {
  const client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
  const pass = (bytes: Buffer): Buffer => bytes;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, pass, pass, message, new Metadata(), (error) => {
      client.close();
      if (error === null) reject(new Error("the call succeeded"));
      else resolve(error);
    });
  });
}

/** Every block of headers that a call over HTTP/2 gets, and the bytes of its body. */
function blocks(path: string, contentType: string): Promise<{ blocks: IncomingHttpHeaders[]; bytes: number }> {
  return new Promise((resolve, reject) => {
    const session = connectH2(server.url);
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": contentType, te: "trailers" });
    const seen: IncomingHttpHeaders[] = [];
    let bytes = 0;
    stream.on("response", (headers) => seen.push(headers)).on("trailers", (headers) => seen.push(headers));
    stream.on("data", (chunk: Buffer) => (bytes += chunk.length)).on("error", reject);
    stream.on("end", () => {
      session.close();
      resolve({ blocks: seen, bytes });
    });
    stream.end(Buffer.from([0, 0, 0, 0, 0]));
  });
}

describe.each(unknown)("The unknown procedure %s", (path) => {
  test("an unknown procedure is UNIMPLEMENTED for stock grpc-js, whatever it sends", async () => {
    for (const message of [Buffer.alloc(0), Buffer.alloc(100_000)]) {
      expect(await grpcCall(path, message)).toMatchObject({
        code: GrpcStatus.UNIMPLEMENTED,
        details: "No such procedure.",
      });
    }
  });

  test.each(["application/grpc", "application/grpc+proto", "application/grpc-web+proto"])(
    "an unknown procedure returns trailers alone over %s",
    async (type) => {
      const { blocks: seen, bytes } = await blocks(path, type);
      const webType = type.startsWith("application/grpc-web") ? "application/grpc-web+proto" : "application/grpc";
      expect(seen).toMatchObject([
        { ":status": 200, "content-type": webType, "grpc-status": "12", "x-content-type-options": "nosniff" },
      ]);
      expect([seen.length, bytes]).toEqual([1, 0]);
      expect(Buffer.from(String(seen[0]?.["grpc-status-details-bin"]), "base64").toString()).toContain("UNIMPLEMENTED");
    },
  );

  test("an unknown procedure is UNIMPLEMENTED over gRPC-Web on HTTP/1.1, with CORS headers for a page", async () => {
    const headers = { "content-type": "application/grpc-web+proto", origin: "https://app.test" };
    const answer = await server.fetch(path, { method: "POST", headers, body: new Uint8Array(5) });
    expect([answer.status, answer.headers.get("grpc-status"), await answer.text()]).toEqual([200, "12", ""]);
    expect(answer.headers.get("access-control-allow-origin")).toBe("https://app.test");
  });

  test.each(["application/json", "application/proto", "application/connect+json", undefined])(
    "an unknown procedure returns 404 with code unimplemented over Connect in %s",
    async (type) => {
      const init = {
        method: "POST",
        headers: type === undefined ? {} : { "content-type": type },
        body: new Uint8Array([0x7b, 0x7d]),
      };
      const answer = await server.fetch(path, init);
      expect([answer.status, answer.headers.get("content-type"), answer.headers.get("x-content-type-options")]).toEqual(
        [404, "application/json", "nosniff"],
      );
      expect(await answer.json()).toMatchObject({
        code: "unimplemented",
        message: "No such procedure.",
        details: [{ type: "google.rpc.ErrorInfo", debug: { reason: "UNIMPLEMENTED" } }],
      });
    },
  );

  test("a preflight for an unknown procedure passes, so that a page gets UNIMPLEMENTED", async () => {
    const headers = { origin: "https://app.test", "access-control-request-method": "POST" };
    const preflight = await server.fetch(path, { method: "OPTIONS", headers });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, headers.origin]);
    expect(preflight.headers.get("access-control-allow-methods")).toContain("POST");
    const foreign = { ...headers, origin: "https://evil.test" };
    const refused = await server.fetch(path, { method: "OPTIONS", headers: foreign });
    expect([refused.status, refused.headers.has("access-control-allow-origin")]).toEqual([404, false]);
  });

  test("an unknown procedure is an unknown route for any request that is not a call", async () => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      expect(await (await server.fetch(path, { method })).json()).toMatchObject({
        code: "not_found",
        message: "no such route",
      });
    }
  });
});

test("a path of another form is no procedure over Connect", async () => {
  for (const path of ["/nope", "/api/nope", "/no.dots/in/three", "/api.v1/", "/.well-known/nope", "/a.b/c.d"]) {
    const answer = await server.fetch(path, { json: {} });
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([404, "not_found"]);
  }
});

test("calls of an unknown procedure hold no stream: a connection is fully usable after a thousand", async () => {
  const client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
  const pass = (bytes: Buffer): Buffer => bytes;
  const call = (path: string) =>
    new Promise<number>((resolve) => {
      client.makeUnaryRequest(path, pass, pass, Buffer.alloc(2_000), new Metadata(), (error) =>
        resolve(error?.code ?? 0),
      );
    });
  const codes = await Promise.all(Array.from({ length: 1_000 }, () => call("/atrium.echo.v1.EchoService/Nope")));
  expect(new Set(codes)).toEqual(new Set([GrpcStatus.UNIMPLEMENTED]));
  expect(await call("/atrium.echo.v1.EchoService/Hello")).not.toBe(GrpcStatus.UNIMPLEMENTED);
  client.close();
});
