import { connect } from "node:http2";
import type { ClientHttp2Session, IncomingHttpHeaders } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GetMeRequestSchema, GetMeResponseSchema } from "../../gen/atrium/access/v1/access_pb.ts";
import { LoginRequestSchema } from "../../gen/atrium/login/v1/login_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

// A call whose message arrives with its head is served directly on its stream, one whose message arrives later by
// connect's handler. Clients must not see a difference.

let app: TestApp;
let token: string;
let session: ClientHttp2Session;
beforeAll(async () => {
  app = await startApp();
  token = await app.login();
  session = connect(app.url);
});
afterAll(async () => {
  session.destroy();
  await app.close();
});

/** What a client sees of a call. */
interface Seen {
  status: string | undefined;
  message: string | undefined;
  details: string | undefined;
  challenge: string | undefined;
  cacheControl: string | undefined;
  contentType: string | undefined;
  requestId: boolean;
  body: Buffer;
}

const me = "/atrium.access.v1.AccessService/GetMe";
const login = "/atrium.login.v1.LoginService/Login";

function frame(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Calls with the message at once, or `lateMs` after the head. */
async function call(path: string, body: Buffer, headers: Record<string, string>, lateMs: number): Promise<Seen> {
  const fixed = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
  const stream = session.request({ ...fixed, "x-request-id": "parity", ...headers });
  const blocks: IncomingHttpHeaders = {};
  const chunks: Buffer[] = [];
  stream.on("response", (block) => Object.assign(blocks, block));
  stream.on("trailers", (block) => Object.assign(blocks, block));
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  const closed = new Promise<void>((resolve, reject) => stream.on("close", resolve).on("error", reject));
  if (lateMs > 0) await sleep(lateMs);
  stream.end(body);
  await closed;
  const text = (name: string): string | undefined => (blocks[name] === undefined ? undefined : String(blocks[name]));
  return {
    status: text("grpc-status"),
    message: text("grpc-message"),
    details: text("grpc-status-details-bin"),
    challenge: text("www-authenticate"),
    cacheControl: text("cache-control"),
    contentType: text("content-type"),
    requestId: text("x-request-id") === "parity",
    body: Buffer.concat(chunks),
  };
}

const empty = frame(toBinary(GetMeRequestSchema, create(GetMeRequestSchema)));
const wrong = { email: "owner@acme.test", password: "certainly wrong", orgName: "Acme" };
const wrongLogin = frame(toBinary(LoginRequestSchema, create(LoginRequestSchema, wrong)));
const bearer = (): Record<string, string> => ({ authorization: `Bearer ${token}` });

describe("Unary gRPC calls", () => {
  it.each<[string, string, () => Buffer, () => Record<string, string>, string]>([
    ["that succeeds", me, () => empty, bearer, "0"],
    ["without a credential", me, () => empty, () => ({}), "16"],
    ["with a token that is none", me, () => empty, () => ({ authorization: "Bearer nonsense" }), "16"],
    ["with a deadline it keeps", me, () => empty, () => ({ ...bearer(), "grpc-timeout": "1H" }), "0"],
    ["with a wrong password", login, () => wrongLogin, () => ({}), "16"],
    ["with missing fields", login, () => empty, () => ({}), "3"],
    ["with bytes that are no message", me, () => frame(Buffer.from([255, 255, 255])), bearer, "3"],
    [
      "with the content type of the codec",
      me,
      () => empty,
      () => ({ ...bearer(), "content-type": "application/grpc+proto" }),
      "0",
    ],
    ["without a message", me, () => Buffer.alloc(0), bearer, "12"],
  ])(
    "a unary gRPC call %s has the same response whenever its message arrives",
    async (_what, path, body, headers, status) => {
      const [at, later] = [await call(path, body(), headers(), 0), await call(path, body(), headers(), 60)];
      expect(at.status).toBe(status);
      expect({ ...at, message: undefined }).toEqual({ ...later, message: undefined });
      expect(at.message === undefined).toBe(later.message === undefined);
    },
  );

  it("a unary gRPC call returns the message of the contract", async () => {
    const { body } = await call(me, empty, bearer(), 0);
    expect(body.readUInt32BE(1)).toBe(body.length - 5);
    expect(fromBinary(GetMeResponseSchema, body.subarray(5)).email).toBe("owner@acme.test");
  });

  it("a unary gRPC call ends with DEADLINE_EXCEEDED when its time is up", async () => {
    const { status } = await call(login, wrongLogin, { "grpc-timeout": "1m" }, 0);
    expect(status).toBe("4");
  });

  it("a thousand unary gRPC calls succeed at once on one connection", async () => {
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => call(me, empty, bearer(), 0)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(["0"]));
  });
});
