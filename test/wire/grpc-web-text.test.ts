import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CheckEntitlementRequestSchema, CheckEntitlementResponseSchema } from "../../gen/atrium/access/v1/access_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

const CHECK = "/atrium.access.v1.AccessService/CheckEntitlement";
const EXPORT = "/atrium.auth_events.v1.AuthEventsService/ExportAuditEvents";

let app: TestApp;
let token: string;
let org: string;
beforeAll(async () => {
  app = await startApp();
  token = await app.login();
  org = (await app.call("GET", "/api/auth/me", { token })).body.org_uuid;
});
afterAll(() => app.close());

const frame = (content: Uint8Array): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(content.length, 1);
  return Buffer.concat([prefix, content]);
};
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const checkOf = (feature: string): Buffer =>
  frame(toBinary(CheckEntitlementRequestSchema, create(CheckEntitlementRequestSchema, { feature, orgUuid: org })));

/** Sends a body as it is; the frames of the response, and its trailers as text. */
async function call(path: string, body: string, type = "application/grpc-web-text", bearer = token) {
  const response = await fetch(app.url + path, {
    method: "POST",
    headers: { "content-type": type, "x-grpc-web": "1", authorization: `Bearer ${bearer}` },
    body,
  });
  const text = await response.text();
  const parts = text.match(/[A-Za-z0-9+/]+={0,2}/gu) ?? [];
  expect(parts.join("")).toBe(text);
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part, "base64")));
  const messages: Buffer[] = [];
  let trailers = [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`).join("");
  for (let at = 0; at < bytes.length; at += 5 + bytes.readUInt32BE(at + 1)) {
    const content = bytes.subarray(at + 5, at + 5 + bytes.readUInt32BE(at + 1));
    if (bytes[at] === 0) messages.push(content);
    else trailers += content.toString();
  }
  const [, status = "none"] = /^grpc-status: ?(\d+)/mu.exec(trailers) ?? [];
  const [, message] = /^grpc-message: ?(.*?)\r$/mu.exec(trailers) ?? [];
  return { http: response.status, type: response.headers.get("content-type"), messages, status, message };
}

it.each(["application/grpc-web-text", "application/grpc-web-text+proto", "application/GRPC-Web-Text"])(
  "a unary call of %s is answered in base64",
  async (type) => {
    const answer = await call(CHECK, base64(checkOf("marketplace")), type);
    expect(answer).toMatchObject({ http: 200, type: "application/grpc-web-text+proto", status: "0" });
    const [message = Buffer.alloc(0)] = answer.messages;
    expect(fromBinary(CheckEntitlementResponseSchema, message).granted).toBe(true);
  },
);

it("padding may end any part of the body", async () => {
  const bytes = checkOf("marketplace");
  const parts = [bytes.subarray(0, 4), bytes.subarray(4, 5), bytes.subarray(5)].map(base64);
  expect(parts.slice(0, 2).join("")).toContain("==");
  expect((await call(CHECK, parts.join(""))).status).toBe("0");
});

it("a stream is answered in base64", async () => {
  // `org_uuid` is field 1 of the request.
  const request = frame(Buffer.concat([Buffer.from([0x0a, org.length]), Buffer.from(org)]));
  const answer = await call(EXPORT, base64(request));
  expect(answer).toMatchObject({ http: 200, type: "application/grpc-web-text+proto", status: "0" });
  expect(Buffer.concat(answer.messages).toString()).toContain('"data":[');
});

it.each([
  ["of the caller", CHECK, () => base64(checkOf("x")), "x.y.z", "16"],
  ["of a field", CHECK, () => base64(checkOf("")), undefined, "3"],
  ["of an unknown procedure", "/atrium.access.v1.AccessService/Nope", () => base64(checkOf("x")), undefined, "12"],
  ["of a body that is no base64", CHECK, () => "!!!!", undefined, "3"],
  ["of a body that is bytes", CHECK, () => checkOf("x").toString("latin1"), undefined, "3"],
  ["of a body that ends within four characters", CHECK, () => base64(checkOf("x")).slice(0, -1), undefined, "3"],
  ["of padding within four characters", CHECK, () => `AA=A${base64(checkOf("x"))}`, undefined, "3"],
  ["of a message over the limit", CHECK, () => base64(frame(Buffer.alloc(1_048_577))), undefined, "8"],
])("a refusal %s is a status in text", async (_what, path, body, bearer, status) => {
  const answer = await call(path, body(), undefined, bearer);
  expect(answer).toMatchObject({ http: 200, type: "application/grpc-web-text+proto", status });
});

it("the message of a refusal is text, and only its percent signs and what is not ASCII are encoded", async () => {
  const { message } = (await app.call("GET", "/api/auth/me", { token: "x.y.z" })).body;
  expect(message).toMatch(/[;: ]/u);
  expect((await call(CHECK, base64(checkOf("x")), undefined, "x.y.z")).message).toBe(message);
  const padded = `AA=A${base64(checkOf("x"))}`;
  expect((await call(CHECK, padded)).message).toBe("the body is not base64");
});
