import { connect } from "node:http2";
import type { ClientHttp2Session, IncomingHttpHeaders } from "node:http2";
import { connect as connectTcp } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { oversizeCalls, oversizeClients, STREAMS_AFTERWARDS } from "../faults/oversize-calls.ts";
import { start } from "./support.ts";
import type { Running } from "./support.ts";

let server: Running;
beforeAll(async () => void (server = await start()));
afterAll(() => server.close());

const STREAMS = 128;
const tooMuch = Buffer.alloc(1_200_000, "x");
const some = Buffer.alloc(100_000, "x");
const frame = (bytes: Buffer): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
};

type Headers = Record<string, string>;

/** A protocol: how a call of an rpc of the tests' contract looks. */
interface Wire {
  type: string;
  path: (rpc: string) => string;
  encoding: string;
  /** Streams of requests have their messages in frames. */
  framed: boolean;
  /** Statuses of the kinds of refusal below. */
  says: Record<string, string>;
}

const procedure = (rpc: string): string => `/atrium.echo.v1.EchoService/${rpc}`;
const rest: Record<string, string> = { Login: "/api/login", Create: "/api/things", Nope: "/api/nope" };
const grpcSays = {
  large: "8",
  coding: "12",
  type: "415",
  anonymous: "16",
  forbidden: "7",
  unknown: "12",
  limited: "8",
};
const wires: Record<string, Wire> = {
  REST: {
    type: "application/json",
    path: (rpc) => rest[rpc] ?? procedure(rpc),
    encoding: "content-encoding",
    framed: false,
    says: { large: "413", coding: "415", type: "415", anonymous: "401", unknown: "404" },
  },
  Connect: {
    type: "application/json",
    path: procedure,
    encoding: "content-encoding",
    framed: false,
    says: { large: "429", coding: "501", type: "415", anonymous: "401", unknown: "404", limited: "429" },
  },
  "Connect streams": {
    type: "application/connect+proto",
    path: () => procedure("Watch"),
    encoding: "connect-content-encoding",
    framed: true,
    says: { large: "200", coding: "200", anonymous: "200" },
  },
  gRPC: { type: "application/grpc", path: procedure, encoding: "grpc-encoding", framed: true, says: grpcSays },
  "gRPC-Web": {
    type: "application/grpc-web+proto",
    path: procedure,
    encoding: "grpc-encoding",
    framed: true,
    says: grpcSays,
  },
};

/** Kinds of refusal: the rpc, what is sent of its body, and under which headers. */
const kinds: Record<string, (wire: Wire) => { rpc: string; body: Buffer; headers: Headers }> = {
  large: (wire) => ({
    rpc: "Login",
    body: wire.framed ? frame(tooMuch) : tooMuch,
    headers: { authorization: "Bearer admin" },
  }),
  coding: (wire) => ({ rpc: "Login", body: some, headers: { [wire.encoding]: "br", authorization: "Bearer admin" } }),
  type: (wire) => ({
    rpc: "Login",
    body: some,
    headers: { "content-type": wire.framed ? `${wire.type.split("+")[0]}+nonsense` : "text/nonsense" },
  }),
  anonymous: () => ({ rpc: "Create", body: some, headers: {} }),
  forbidden: () => ({ rpc: "Org", body: some, headers: { authorization: "Bearer plain" } }),
  unknown: () => ({ rpc: "Nope", body: some, headers: {} }),
  limited: () => ({ rpc: "Audit", body: some, headers: { authorization: "Bearer admin" } }),
};

/** What a client does after its response. */
const manners: Record<string, (stream: ReturnType<ClientHttp2Session["request"]>) => void> = {
  "sends the rest": (stream) => void stream.end(),
  "resets its stream": (stream) => stream.close(8),
  "goes on sending": (stream) => {
    const more = setInterval(() => stream.write(some), 20);
    stream.on("close", () => clearInterval(more));
  },
};

function refused(session: ClientHttp2Session, wire: Wire, kind: string, manner: string): Promise<string> {
  const { rpc, body, headers } = (kinds[kind] as (typeof kinds)[string])(wire);
  return new Promise((resolve) => {
    const stream = session.request({
      ":method": "POST",
      ":path": wire.path(rpc),
      "content-type": wire.type,
      te: "trailers",
      ...headers,
    });
    let status = "none";
    const note = (block: IncomingHttpHeaders & { ":status"?: number }): void => {
      if (block[":status"] !== undefined && status === "none") status = String(block[":status"]);
      if (block["grpc-status"] !== undefined) status = String(block["grpc-status"]);
    };
    let text = "";
    stream
      .on("response", note)
      .on("trailers", note)
      .on("error", () => undefined);
    stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
    stream.on("end", () => (manners[manner] as (typeof manners)[string])(stream));
    stream.on("close", () => resolve(/grpc-status: ?(\d+)/u.exec(text)?.[1] ?? status));
    stream.write(body);
  });
}

/** Opens as many streams at once as the connection may have, and counts those that get a response. */
async function watchers(session: ClientHttp2Session): Promise<number> {
  const tokens = Array.from({ length: STREAMS }, (_, at) => (at % 2 === 0 ? "admin" : "reader"));
  const streams = tokens.map((token) => session.request({ ":path": "/api/watch", authorization: `Bearer ${token}` }));
  const first = await Promise.all(
    streams.map(
      (stream) =>
        new Promise<boolean>((resolve) => {
          stream
            .once("data", () => resolve(true))
            .once("close", () => resolve(false))
            .on("error", () => resolve(false));
        }),
    ),
  );
  await Promise.all(
    streams.map(
      (stream) =>
        new Promise((resolve) => {
          if (stream.destroyed) return resolve(undefined);
          stream.once("close", resolve);
          stream.close();
        }),
    ),
  );
  return first.filter(Boolean).length;
}

const rows = Object.entries(wires).flatMap(([protocol, wire]) =>
  Object.entries(wire.says).flatMap(([kind, says]) =>
    Object.keys(manners).map((manner) => ({ protocol, kind, manner, says })),
  ),
);

describe("Refusals while a body is being sent", () => {
  test.concurrent.for(rows)(
    "an HTTP/2 connection stays usable after refusals: $protocol, $kind, and the client $manner",
    async ({ protocol, kind, manner, says }, { expect }) => {
      // Node's client never subtracts what it had still to send when it reset a stream.
      const session = connect(server.url, { maxSessionMemory: 10_000 });
      let lost = "";
      session.on("error", (error) => (lost = error.message)).on("goaway", (code) => (lost = `GOAWAY ${code}`));
      const wire = wires[protocol] as Wire;
      if (kind === "limited") for (let at = 0; at < 60; at++) await server.fetch("/api/audit", { token: "admin" });
      const statuses = new Set<string>();
      const one = async (): Promise<void> => {
        for (let at = 0; at < 2; at++) statuses.add(await refused(session, wire, kind, manner));
      };
      await Promise.all(Array.from({ length: 12 }, one));
      expect(statuses).toEqual(new Set([says]));
      await expect.poll(() => watchers(session)).toBe(STREAMS);
      expect(lost).toBe("");
      session.destroy();
    },
  );
});

test.each(oversizeClients)("%s keeps its connection through 300 messages over the limit", async (name) => {
  expect(await oversizeCalls(name, server.port, procedure("Hello"), 300)).toEqual({
    codes: { RESOURCE_EXHAUSTED: 300 },
    streams: STREAMS_AFTERWARDS,
    connections: 1,
  });
});

describe("An HTTP/1.1 client", () => {
  const head = (path: string, headers: string[]): string =>
    [`POST ${path} HTTP/1.1`, "host: a", ...headers, "", ""].join("\r\n");
  const json = "content-type: application/json";

  test.each([
    ["REST", "/api/things", json, 401],
    ["REST", "/api/nope", json, 404],
    ["REST", "/api/login", "content-type: text/nonsense", 415],
    ["Connect", procedure("Create"), json, 401],
    ["Connect", procedure("Login"), "content-type: application/nonsense", 415],
    ["gRPC-Web", procedure("Create"), "content-type: application/grpc-web+proto", 200],
  ])(
    "a client gets its response over %s, %s with %s, before the connection closes under a large body",
    async (_protocol, path, type, status) => {
      const socket = connectTcp(server.port, "127.0.0.1");
      let text = "";
      socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1"))).on("error", () => undefined);
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.write(head(path, [type, "content-length: 99999999"]));
      const more = setInterval(() => socket.write(some), 10);
      await closed;
      clearInterval(more);
      expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*connection: close`, "i"));
    },
  );

  test.each([
    ["REST", "/api/things", json],
    ["Connect", procedure("Create"), json],
  ])("a client keeps its connection over %s when the rest of the body is small", async (_protocol, path, type) => {
    const socket = connectTcp(server.port, "127.0.0.1");
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    for (let at = 1; at <= 3; at++) {
      socket.write(head(path, [type, "content-length: 20000"]) + "x".repeat(100));
      await expect.poll(() => text.split("HTTP/1.1 401").length).toBe(at + 1);
      socket.write("x".repeat(19_900));
    }
    socket.write("GET /api/hello HTTP/1.1\r\nhost: a\r\n\r\n");
    await expect.poll(() => text).toContain("HTTP/1.1 200 OK");
    socket.destroy();
  });
});
