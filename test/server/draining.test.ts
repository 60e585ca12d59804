import { connect as connectH2 } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { connect } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/health/v1/health_pb.ts";
import { startApp } from "../support/app.ts";
import { h2Status } from "./sockets.ts";
import { as, start } from "./support.ts";
import type { Running } from "./support.ts";

/**
 * A call in flight whose body is incomplete; `finish` sends the rest and resolves to what the server
 * said.
 */
async function underWay(url: string, path: string, body: string): Promise<{ finish: () => Promise<string> }> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-type: application/json\r\n` +
      `content-length: ${body.length}\r\n\r\n`,
  );
  await expect.poll(() => text).toContain("100 Continue");
  return {
    async finish() {
      text = "";
      socket.write(body);
      await closed;
      return text;
    },
  };
}

async function asked(url: string, path: string, init: RequestInit = {}) {
  const { status, headers, ...answer } = await fetch(`${url}${path}`, init).then(async (got) => ({
    status: got.status,
    headers: got.headers,
    text: await got.text(),
  }));
  return { status, connection: headers.get("connection"), retryAfter: headers.get("retry-after"), body: answer.text };
}

async function openSession(url: string): Promise<{ session: ClientHttp2Session; goneAway: Promise<unknown> }> {
  const session = connectH2(url);
  const goneAway = new Promise((resolve) => session.once("goaway", resolve));
  await new Promise((resolve) => session.once("remoteSettings", resolve));
  return { session, goneAway };
}

const refusal = async (call: Promise<unknown>): Promise<[Code, string | null]> => {
  const { code, metadata } = ConnectError.from(await call.catch((error: unknown) => error));
  return [code, metadata.get("retry-after")];
};

describe("A server that is closed while calls are in flight", () => {
  async function draining(check: (server: Running, closed: Promise<void>) => Promise<void>): Promise<void> {
    const server = await start();
    const call = await underWay(server.url, "/api/login", '{"email":"a@b.co"}');
    const closed = server.close(60_000);
    await check(server, closed);
    expect(await call.finish()).toContain("HTTP/1.1 204 ");
    await closed;
    await expect(fetch(`${server.url}/api/hello`)).rejects.toThrow();
  }

  test("a draining server returns 503 on new connections, closes them, and finishes calls in flight", async () => {
    await draining(async ({ url }) => {
      for (const [path, init] of [
        ["/api/hello", {}],
        ["/api/me", {}],
        ["/api/nope", {}],
        ["/api/login", { method: "POST", body: "{}", headers: { "content-type": "application/json" } }],
      ] as const) {
        const { body, ...rest } = await asked(url, path, init);
        expect({ path, ...rest }).toEqual({ path, status: 503, connection: "close", retryAfter: "1" });
        expect(JSON.parse(body)).toMatchObject({ code: "unavailable", status: 503 });
      }
    });
  });

  test("a draining server returns UNAVAILABLE over Connect, gRPC and gRPC-Web", async () => {
    await draining(async (server) => {
      for (const protocol of ["connect", "connect-json", "grpc", "grpc-web"] as const) {
        expect([protocol, ...(await refusal(server.client(protocol)["hello"]!({})))]).toEqual([
          protocol,
          Code.Unavailable,
          "1",
        ]);
        expect([protocol, ...(await refusal(server.client(protocol)["me"]!({}, as("admin"))))]).toEqual([
          protocol,
          Code.Unavailable,
          "1",
        ]);
      }
    });
  });

  test("a draining server sends GOAWAY on HTTP/2 connections, old and new", async () => {
    const server = await start();
    const call = await underWay(server.url, "/api/login", '{"email":"a@b.co"}');
    const old = await openSession(server.url);
    const closed = server.close(60_000);
    await old.goneAway;
    const young = await openSession(server.url);
    const stream = young.session.request({ ":path": "/api/hello" });
    expect(await new Promise((resolve) => stream.once("response", (answer) => resolve(answer[":status"])))).toBe(503);
    stream.resume();
    await young.goneAway;
    await call.finish();
    await closed;
  });

  test("a draining server reports NOT_SERVING to health checks and watches", async () => {
    const server = await start();
    const call = await underWay(server.url, "/api/login", '{"email":"a@b.co"}');
    const watch = server.client("grpc", Health)["watch"]!({ service: "" })[Symbol.asyncIterator]();
    expect((await watch.next()).value).toMatchObject({ status: Status.SERVING });
    const closed = server.close(60_000);
    expect((await watch.next()).value).toMatchObject({ status: Status.NOT_SERVING });
    expect(await server.client("grpc", Health)["check"]!({ service: "" })).toMatchObject({
      status: Status.NOT_SERVING,
    });
    await call.finish();
    await closed;
  });
});

test("a server without calls in flight closes at once, whatever connections and health watches are open", async () => {
  const server = await start();
  const idle = connect(server.port, "127.0.0.1");
  await new Promise((resolve) => idle.once("connect", resolve));
  await openSession(server.url);
  await server.fetch("/api/hello");
  for (const protocol of ["grpc", "grpc-web"] as const)
    await server.client(protocol, Health)["watch"]!({ service: "" })[Symbol.asyncIterator]().next();
  // The grace period is longer than the test may take.
  await server.close(600_000);
});

test("clients that connect again when they are told to go away get 503, not a reset", async () => {
  const server = await start();
  const sessions = await Promise.all(Array.from({ length: 5 }, () => openSession(server.url)));
  const statuses = sessions.map(async ({ goneAway }) => {
    await goneAway;
    const again = connectH2(server.url).on("error", () => undefined);
    return h2Status(again, {});
  });
  await server.close(60_000);
  expect(new Set(await Promise.all(statuses))).toEqual(new Set([503]));
});

test("watches end with UNAVAILABLE when the server begins to drain, and do not delay its end", async () => {
  const server = await start();
  const watches = (["connect", "grpc", "grpc-web"] as const).map((protocol) =>
    server.client(protocol)["watch"]!({}, as("admin"))[Symbol.asyncIterator](),
  );
  for (const watch of watches) await watch.next();
  const rest = await server.fetch("/api/watch", { token: "admin" });
  // The grace period is longer than the test may take.
  const closed = server.close(600_000);
  for (const watch of watches) expect((await refusal(watch.next()))[0]).toBe(Code.Unavailable);
  const lines = (await rest.text()).trim().split("\n");
  expect(JSON.parse(lines.at(-1) as string)).toMatchObject({ error: { code: "unavailable" } });
  await closed;
});

test("an open reflection stream ends with UNAVAILABLE and does not delay the end of the server", async () => {
  const server = await start();
  const ended = Promise.withResolvers<void>();
  async function* ask() {
    yield { messageRequest: { case: "listServices", value: "" } };
    await ended.promise;
  }
  const stream = server.client("grpc", ServerReflection)["serverReflectionInfo"]!(ask())[Symbol.asyncIterator]();
  await stream.next();
  const closed = server.close(600_000);
  expect((await refusal(stream.next()))[0]).toBe(Code.Unavailable);
  await closed;
  ended.resolve();
});

test("GET /readyz of a draining service returns 503 with the report, and /healthz stays 200", async () => {
  const app = await startApp();
  const call = await underWay(
    app.url,
    "/api/auth/login",
    '{"email":"a@b.co","password":"wrong password","org_name":"Acme"}',
  );
  const closed = app.close();
  const ready = await asked(app.url, "/readyz");
  expect([ready.status, ready.connection, ready.retryAfter]).toEqual([503, "close", "1"]);
  expect(JSON.parse(ready.body)).toMatchObject({ status: "draining", database: "ok", migrations: "ok" });
  expect((await asked(app.url, "/healthz")).status).toBe(200);
  expect(await asked(app.url, "/api/auth/me")).toMatchObject({ status: 503, connection: "close" });
  expect(await call.finish()).toContain("HTTP/1.1 401 ");
  await closed;
});
