import { create, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, status } from "@grpc/grpc-js";
import type { ServiceError } from "@grpc/grpc-js";
import { connect } from "node:http2";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Code, ConnectError } from "@connectrpc/connect";
import { ListResourcesRequestSchema } from "../../gen/atrium/scim/v1/messages_pb.ts";
import { setPlainStatus } from "../../src/server/patches/connect-grpc-message.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

const me = "/atrium.access.v1.AccessService/GetMe";
const login = "/atrium.login.v1.LoginService/Login";
const watch = "/atrium.webhooks.v1.WebhooksService/WatchDeliveries";
const pass = (bytes: Buffer): Buffer => bytes;

let app: TestApp;
let client: Client;
let refusal: string;
beforeAll(async () => {
  app = await startApp();
  client = new Client(new URL(app.url).host, credentials.createInsecure());
  refusal = (await app.call("GET", "/api/auth/me")).body.message as string;
});
afterAll(async () => {
  client.close();
  await app.close();
});

/** `grpc-message` of a call that needs no credential, with a `grpc-timeout`. */
async function messageFor(timeout: string): Promise<string> {
  const session = connect(app.url);
  const fixed = { ":method": "POST", ":path": login, "content-type": "application/grpc", te: "trailers" };
  const stream = session.request({ ...fixed, "grpc-timeout": timeout });
  const found = new Promise<string>((resolve, reject) => {
    for (const block of ["response", "trailers"] as const)
      stream.on(block, (headers) => {
        const message = headers["grpc-message"];
        if (message !== undefined) resolve(String(message));
      });
    stream.on("error", reject);
  });
  stream.resume().end(Buffer.alloc(5));
  return found.finally(() => session.close());
}

describe("The message of an error over gRPC", () => {
  it("the message of a unary call reaches stock grpc-js as it is", async () => {
    expect(refusal).toMatch(/[;:]/u);
    const error = await new Promise<ServiceError | null>((resolve) =>
      client.makeUnaryRequest(me, pass, pass, Buffer.alloc(0), new Metadata(), resolve),
    );
    expect(error?.details).toBe(refusal);
  });

  it("the message of a stream reaches stock grpc-js as it is", async () => {
    const stream = client.makeServerStreamRequest(watch, pass, pass, Buffer.alloc(0), new Metadata());
    const error = await new Promise<ServiceError>((resolve) => stream.on("error", resolve).resume());
    expect(error.details).toBe(refusal);
  });

  it("a message that repeats a long text of the client is shortened, so that it reaches stock grpc-js", async () => {
    const token = await app.login();
    const { org_uuid: orgUuid } = (await app.call("GET", "/api/auth/me", { token })).body as { org_uuid: string };
    const path = `/api/admin/organizations/${orgUuid}/scim-tokens`;
    const made = await app.call("POST", path, { token, body: { name: "idp" } });
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${made.body.token as string}`);
    const start = "sortBy: User has no attribute ";
    for (const [text, encodedBytes] of [
      ["x", 1],
      ["\u00e9", 6],
    ] as const) {
      const wish = create(ListResourcesRequestSchema, { orgUuid, sortBy: text.repeat(60_000) });
      const bytes = Buffer.from(toBinary(ListResourcesRequestSchema, wish));
      const error = await new Promise<ServiceError | null>((resolve) =>
        client.makeUnaryRequest("/atrium.scim.v1.ScimService/ListUsers", pass, pass, bytes, metadata, resolve),
      );
      const shown = text.repeat(Math.floor((1_024 - start.length) / encodedBytes));
      expect([error?.code, error?.details]).toEqual([status.INVALID_ARGUMENT, `${start}${shown}\u2026`]);
    }
  });

  it("a percent sign in a message is encoded, and other printable ASCII is not", async () => {
    expect(await messageFor("5%41")).toBe("protocol error: invalid grpc timeout value: 5%2541");
  });

  it("inner spaces of a message are sent as they are, outer ones encoded, and a million in linear time", async () => {
    const spaces = " ".repeat(10_000);
    expect(await messageFor(`5${spaces}x`)).toBe(`protocol error: invalid grpc timeout value: 5${spaces}x`);
    const plain = (message: string) =>
      setPlainStatus(new Headers(), new ConnectError(message, Code.Internal)).get("grpc-message");
    expect(plain("  a  b  ")).toBe("%20%20a  b%20%20");
    const many = `a${" ".repeat(1_000_000)}b`;
    expect(plain(many)).toBe(many);
  });
});
