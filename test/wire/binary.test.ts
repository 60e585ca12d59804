import type { JsonObject } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { ListValueSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Value } from "@bufbuild/protobuf/wkt";
import { ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AccessService } from "../../gen/atrium/access/v1/access_pb.ts";
import { LoginService } from "../../gen/atrium/login/v1/login_pb.ts";
import { BuyerService } from "../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { PublisherService } from "../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { SigningKeysService } from "../../gen/atrium/signing_keys/v1/signing_keys_pb.ts";
import { UsersService } from "../../gen/atrium/users/v1/users_pb.ts";
import { WebhooksService } from "../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

let app: TestApp;
let headers: Record<string, string>;
let orgUuid: string;
let keyId: string;
beforeAll(async () => {
  app = await startApp();
  const token = await app.login();
  headers = { authorization: `Bearer ${token}` };
  orgUuid = (await app.call("GET", "/api/auth/me", { token })).body.org_uuid as string;
  keyId = (await app.call("GET", `/api/admin/organizations/${orgUuid}/signing-keys`, { token })).body.data[0]
    .key_id as string;
});
afterAll(() => app.close());

const binary = { useBinaryFormat: true };
const transports = {
  connect: () => createConnectTransport({ baseUrl: app.url, httpVersion: "1.1", ...binary }),
  gRPC: () => createGrpcTransport({ baseUrl: app.url, ...binary }),
  "gRPC-Web": () => createGrpcWebTransport({ baseUrl: app.url, httpVersion: "1.1", ...binary }),
};

/** `ok`, or the status and the reason of the refusal. */
async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "ok";
  } catch (error) {
    const [info] = ConnectError.from(error).findDetails(ErrorInfoSchema);
    return `${info?.metadata["http_status"]} ${info?.reason}`;
  }
}

/** An object nested to this many levels. */
const nested = (levels: number): JsonObject => (levels === 1 ? { end: 1 } : { a: nested(levels - 1) });
const listOf = (kind: Value["kind"]) => create(ListValueSchema, { values: [create(ValueSchema, { kind })] });

describe.each(Object.keys(transports) as (keyof typeof transports)[])("A binary message over %s", (name) => {
  const client = <T extends Parameters<typeof createClient>[0]>(service: T) =>
    createClient(service, transports[name]());
  const sign = (payload: JsonObject) =>
    outcome(client(SigningKeysService).sign({ orgUuid, keyId, payload }, { headers }));
  const trust = (kind: Value["kind"]) =>
    outcome(client(UsersService).updateOrganization({ orgUuid, jitDomains: listOf(kind) }, { headers }));

  it.each<[string, () => Promise<unknown>]>([
    [
      "a name that is written by the unit of work",
      () => client(UsersService).updateProfile({ firstName: "a\0b" }, { headers }),
    ],
    ["a search", () => client(BuyerService).browseApps({ q: "a\0b" }, { headers })],
    [
      "a feature nobody stores",
      () => client(AccessService).checkEntitlement({ feature: "a\0b", orgUuid }, { headers }),
    ],
    [
      "a feature in a list",
      () => client(AccessService).checkEntitlements({ checks: [{ feature: "a\0b", orgUuid }] }, { headers }),
    ],
    ["a password", () => client(LoginService).login({ ...app.owner, orgName: app.owner.org, password: "a\0b" })],
    [
      "an item of a list",
      () => client(WebhooksService).createWebhook({ url: "https://a.test/", events: ["*", "a\0"] }, { headers }),
    ],
  ])("a binary message is refused for a NUL in %s", async (_what, call) =>
    expect(await outcome(call())).toBe("400 BAD_REQUEST"),
  );

  it("the refusal of a binary message names the field", async () => {
    const message = (call: Promise<unknown>): Promise<string> =>
      call.then(
        () => "ok",
        (error: unknown) => ConnectError.from(error).rawMessage,
      );
    const checks = [
      { feature: "a", orgUuid },
      { feature: "a\0b", orgUuid },
    ];
    expect(await message(client(AccessService).checkEntitlements({ checks }, { headers }))).toBe(
      "checks[1].feature: A text holds a NUL character.",
    );
    const signed = (payload: JsonObject) =>
      message(client(SigningKeysService).sign({ orgUuid, keyId, payload }, { headers }));
    expect(await signed({ a: { b: ["x\0"] } })).toBe("payload.a.b[0]: A text holds a NUL character.");
    expect(await signed({ a: { "b\0": 1 } })).toBe("payload.a: A text holds a NUL character.");
    expect(await signed({ ["k".repeat(5_000)]: Number.NaN })).toMatch(/^payload\.k{192}: A number/u);
  });

  it("a binary message carries JSON values that are JSON, at most as deep as a JSON body", async () => {
    expect(await sign({ sub: "x", list: [1.5, null, true, { a: "b" }] })).toBe("ok");
    expect(await sign(nested(31))).toBe("ok");
    expect(await sign(nested(32))).toBe("400 BAD_REQUEST");
    for (const bad of [{ a: Number.NaN }, { a: [Number.POSITIVE_INFINITY] }, { "a\0": 1 }, { a: { b: ["x\0"] } }])
      expect(await sign(bad), JSON.stringify(bad)).toBe("400 BAD_REQUEST");
    // Objects with the members of messages of the library.
    for (const type of ["Struct", "Value", "ListValue"].map((name) => `google.protobuf.${name}`)) {
      expect(await sign({ a: { $typeName: type, fields: 1 } }), type).toBe("ok");
      expect(await sign({ a: { $typeName: type, fields: {}, values: [], b: "x\0" } }), type).toBe("400 BAD_REQUEST");
    }
    expect(await trust({ case: "stringValue", value: "a.test" })).toBe("ok");
    for (const kind of [
      { case: undefined },
      { case: "numberValue", value: Number.NaN },
      { case: "stringValue", value: "a\0.test" },
    ] as Value["kind"][])
      expect(await trust(kind), String(kind.case)).toBe("400 BAD_REQUEST");
  });

  it("a binary message is refused for an optional id that is empty", async () => {
    const refusals = [
      () =>
        client(WebhooksService).createWebhook(
          { url: "https://a.test/", events: ["*"], scope: "app", appId: "" },
          { headers },
        ),
      () => client(PublisherService).listAllInstalls({ appId: "" }, { headers }),
      () => client(PublisherService).listAllInstalls({ orgUuid: "" }, { headers }),
    ];
    for (const refusal of refusals) expect(await outcome(refusal())).toBe("400 VALIDATION_ERROR");
    expect(await outcome(client(LoginService).sendMagicLink({ email: "x@people.test", orgUuid: "" }))).toBe(
      "400 BAD_REQUEST",
    );
  });
});

it("an empty optional id is invalid in a REST body too and absent in a query", async () => {
  const token = (headers["authorization"] ?? "").slice(7);
  const refused = await app.call("POST", "/api/v2/webhooks", {
    token,
    body: { url: "https://a.test/", events: ["*"], scope: "app", app_id: "" },
  });
  expect([refused.status, refused.body.errors]).toEqual([
    400,
    [{ field: "app_id", code: "format", message: "must be a UUID" }],
  ]);
  expect(
    (await app.call("POST", "/api/auth/magic-link/send", { body: { email: "x@people.test", org_uuid: "" } })).status,
  ).toBe(400);
  expect((await app.call("GET", "/api/admin/marketplace/installs?app_id=&org_uuid=", { token })).status).toBe(200);
});
