import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { OidcService } from "../../gen/atrium/oidc/v1/oidc_pb.ts";
import { COOKIE, PAGE } from "../login/cookie-support.ts";
import { callbackOf, sessionTokenOf, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
beforeAll(async () => {
  realm = await startRealm();
});
afterAll(() => realm.close());

it.each([
  ["Connect", () => createConnectTransport({ baseUrl: realm.app.url, httpVersion: "1.1" })],
  ["Connect over HTTP/2", () => createConnectTransport({ baseUrl: realm.app.url, httpVersion: "2" })],
  ["gRPC-Web", () => createGrpcWebTransport({ baseUrl: realm.app.url, httpVersion: "1.1" })],
  ["gRPC", () => createGrpcTransport({ baseUrl: realm.app.url })],
])("an exchange in cookie mode sets its cookie and ends that of the sign-in over %s", async (protocol, transport) => {
  const { cookie, answer } = await callbackOf(realm, subject(protocol.replaceAll(/\W/gu, "")));
  let set: string[] = [];
  await createClient(OidcService, transport()).exchangeSession(
    { sessionToken: sessionTokenOf(answer) },
    { headers: { ...PAGE, cookie }, onHeader: (headers) => (set = headers.getSetCookie()) },
  );
  expect(set.map((one) => one.split("=")[0]).sort()).toEqual([COOKIE, cookie.split("=")[0]].sort());
  expect(set.find((one) => !one.startsWith(COOKIE))).toContain("Max-Age=0");
});
