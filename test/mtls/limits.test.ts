import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import type { Socket } from "node:net";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BuyerService } from "../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { callRest, startApp } from "../support/app.ts";
import type { Fetch, TestApp } from "../support/app.ts";
import { draftOf } from "../support/market.ts";
import { authorityOf } from "../mtls-ca/support.ts";
import { fetchOver, get, target } from "./client.ts";
import { workload } from "./workload.ts";
import type { Workload } from "./workload.ts";

let app: TestApp;
let owner: { token: string; org: string };
let svid: Workload;
let over: Fetch;
beforeAll(async () => {
  app = await startApp();
  const token = await app.login();
  owner = { token, org: (await app.call("GET", "/api/auth/me", { token })).body.org_uuid as string };
  svid = await workload(app, owner);
  over = fetchOver(app, svid);
});
afterAll(() => app.close());

const REFUSED = { status: 401, body: { code: "unauthorized" } };

describe("limits on the listener of mutual TLS", () => {
  test("a body over 1 MiB returns 413 to an SVID, and 401 to a client without one", async () => {
    const path = `/api/admin/organizations/${owner.org}/secrets/large`;
    const body = JSON.stringify({ value: "x".repeat(1024 * 1024) });
    expect(await callRest(app.url, "PUT", path, { fetch: over, body })).toMatchObject({
      status: 413,
      body: { code: "payload_too_large" },
    });
    expect(await callRest(app.url, "PUT", path, { fetch: fetchOver(app, {}), body })).toMatchObject(REFUSED);
    expect((await callRest(app.url, "PUT", path, { fetch: over, body: { value: "small" } })).status).toBe(200);
  });

  test("a header block over 16 KiB returns 431 over HTTP/1.1 and HTTP/2", async () => {
    const headers = { "x-large": "x".repeat(17 * 1024) };
    expect((await get(app, "/api/auth/me", svid, headers)).status).toBe(431);
    expect((await callRest(app.url, "GET", "/api/auth/me", { fetch: over, headers })).status).toBe(431);
    expect((await callRest(app.url, "GET", "/api/auth/me", { fetch: over })).status).toBe(200);
  });

  test("a handshake that is not complete after 10 seconds ends, and others go on meanwhile", async () => {
    const started = performance.now();
    const sent = [Buffer.alloc(0), Buffer.from("16030100", "hex"), Buffer.from("1603010200010001fc0303", "hex")];
    const slow = await Promise.all(sent.map((bytes) => connected("127.0.0.1", bytes)));
    const ends = Promise.all(slow.map(async (socket) => (await once(socket, "close")) && performance.now() - started));
    expect((await get(app, "/api/auth/me", svid)).status).toBe(200);
    for (const tookMs of await ends) expect(tookMs).toBeGreaterThan(9_000);
  });

  test("connections over 1,000 of one address are refused before their handshake", async () => {
    const held = await Promise.all(Array.from({ length: 1_000 }, () => connected("127.0.0.7")));
    const more = await Promise.all(Array.from({ length: 20 }, () => connected("127.0.0.7")));
    await expect.poll(() => more.filter((socket) => socket.destroyed).length).toBe(20);
    expect(held.filter((socket) => socket.destroyed)).toEqual([]);
    expect((await get(app, "/api/auth/me", svid)).status).toBe(200);
    for (const socket of held) socket.destroy();
  });

  test("an SVID has at most 100 open streams, over all its connections", async () => {
    const installId = await install();
    const { url, ca } = target(app);
    const nodeOptions = { ca, cert: svid.cert, key: svid.key, servername: "localhost" };
    const clients = [1, 2].map(() => createClient(BuyerService, createGrpcTransport({ baseUrl: url, nodeOptions })));
    const control = new AbortController();
    const watch = async (nth: number): Promise<Code | undefined> => {
      try {
        const messages = clients[nth % 2]?.watchInstall({ installId }, { signal: control.signal });
        await messages?.[Symbol.asyncIterator]().next();
        return undefined;
      } catch (error) {
        return ConnectError.from(error).code;
      }
    };
    const opened = await Promise.all(Array.from({ length: 100 }, (_, nth) => watch(nth)));
    expect(new Set(opened)).toEqual(new Set([undefined]));
    expect([await watch(0), await watch(1)]).toEqual([Code.ResourceExhausted, Code.ResourceExhausted]);
    control.abort();
    await expect
      .poll(() => callRest(app.url, "GET", "/api/auth/me", { fetch: over }).then(({ status }) => status))
      .toBe(200);
  });
});

test("a certificate of an organization's authority completes the handshake and opens no route", async () => {
  const ca = authorityOf(app, owner);
  expect((await ca.create()).status).toBe(201);
  const { body } = await ca.issue({ common_name: svid.spiffeId.slice(0, 64), sans: ["client.example"] });
  const certificate = { cert: body.certificate as string, key: body.private_key as string };
  expect((await get(app, "/healthz", certificate)).status).toBe(200);
  expect(await get(app, "/api/auth/me", certificate)).toMatchObject(REFUSED);
  expect(await get(app, `/api/admin/organizations/${owner.org}/mtls-ca`, certificate)).toMatchObject(REFUSED);
  const bearer = { authorization: `Bearer ${owner.token}` };
  expect((await get(app, "/api/auth/me", certificate, bearer)).status).toBe(200);
});

/** A TCP connection to the listener that has sent some bytes. */
async function connected(localAddress: string, bytes: Buffer = Buffer.alloc(0)): Promise<Socket> {
  const socket = connectTcp({ port: target(app).port, host: "127.0.0.1", localAddress });
  socket.on("error", () => undefined).resume();
  await once(socket, "connect");
  if (bytes.length > 0) socket.write(bytes);
  return socket;
}

/** An install that waits for its publisher, for want of a worker. */
async function install(): Promise<string> {
  const post = async (path: string, body: object): Promise<Record<string, string>> =>
    (await app.call("POST", path, { token: owner.token, body })).body as Record<string, string>;
  const { app_id: appId } = await post("/api/marketplace/apps", draftOf("limits", "http://127.0.0.1:9/x"));
  await post(`/api/admin/marketplace/apps/${appId}/approve`, {});
  return (await post("/api/marketplace/limits/install", {}))["install_id"] ?? "";
}
