import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebhooksService } from "../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import { holding } from "../support/holding.ts";
import { founder, outcome } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "./receiver.ts";

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await startApp({
    role: "all",
    temporal: await temporalServer(),
    clock: systemClock,
    env: { SERVICE_WEBHOOK_SCHEDULE: "0s,200ms", SERVICE_WEBHOOK_TIMEOUT: "1s" },
  });
  token = await app.login();
});
afterAll(() => app.close());

interface Item {
  delivery_id: string;
  status: string;
  attempts: unknown[];
}

const register = async (url: string, events = ["role.updated"]): Promise<string> =>
  (await app.call("POST", "/api/v2/webhooks", { token, body: { url, events } })).body.webhook_id;
const send = async (id: string): Promise<string> =>
  (await app.call("POST", `/api/v2/webhooks/${id}/test`, { token })).body.delivery_id;

/** Opens a stream over REST; resolves when its head is there. */
async function open(id: string, signal: AbortSignal): Promise<AsyncGenerator<Item>> {
  const response = await fetch(`${app.url}/api/v2/webhooks/${id}/deliveries/watch`, {
    headers: { authorization: `Bearer ${token}` },
    signal,
  });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/x-ndjson"]);
  async function* lines(): AsyncGenerator<Item> {
    let rest = "";
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const parts = (rest + part).split("\n");
      rest = parts.pop() ?? "";
      for (const line of parts) yield JSON.parse(line) as Item;
    }
  }
  return lines();
}

async function until(items: AsyncGenerator<Item>, found: (item: Item) => boolean): Promise<Item[]> {
  const seen: Item[] = [];
  for (let next = await items.next(); next.done !== true; next = await items.next()) {
    seen.push(next.value);
    if (found(next.value)) return seen;
  }
  throw new Error(`the stream ended: ${JSON.stringify(seen)}`);
}

test("a stream of deliveries begins without any, and has every change from its head on", async () => {
  const receiver = await startReceiver((_post, nth) => (nth === 2 ? 500 : 200));
  const id = await register(receiver.url);
  await send(id);
  await receiver.waitFor(1);
  const stop = new AbortController();
  const streams = await Promise.all([open(id, stop.signal), open(id, stop.signal)]);
  const sent = await send(id);
  for (const stream of streams) {
    const seen = await until(stream, ({ status }) => status === "delivered");
    expect(new Set(seen.map((item) => item.delivery_id))).toEqual(new Set([sent]));
    expect(seen.at(-1)?.attempts).toMatchObject([{ status_code: 500 }, { status_code: 200 }]);
  }
  stop.abort();
  await receiver.close();
});

test("changes that commit after a later one are streamed too", async () => {
  const id = await register("http://127.0.0.1:9/");
  const stop = new AbortController();
  const stream = await open(id, stop.signal);
  const held = await holding(app.databaseUrl);
  const values = "values (gen_random_uuid(), $1, $2, 'failed', 'first', now())";
  const columns = "(delivery_id, event_id, webhook_id, status, queue, created_at)";
  const event =
    "insert into webhook_events (event_id, type, body, created_at) values ($1, 'webhook.test', '{}', now())";
  await held.run(event, ["evt_early"]);
  await held.run(`insert into webhook_deliveries ${columns} ${values}`, ["evt_early", id]);
  await runSql(app.databaseUrl, event, ["evt_late"]);
  await runSql(app.databaseUrl, `insert into webhook_deliveries ${columns} ${values}`, ["evt_late", id]);
  const first = (await stream.next()).value as Item & { event_id: string };
  await held.commit();
  const second = (await stream.next()).value as Item & { event_id: string };
  expect([first.event_id, second.event_id]).toEqual(["evt_late", "evt_early"]);
  stop.abort();
});

test("a stream of deliveries ends when the webhook is deleted, and is 404 for others", async () => {
  const id = await register("http://127.0.0.1:9/");
  const stream = await open(id, AbortSignal.timeout(60_000));
  const stranger = await founder(app);
  const path = `/api/v2/webhooks/${id}/deliveries/watch`;
  expect(outcome(await app.call("GET", path, { token: stranger.token }))).toBe("404 not_found");
  await app.call("DELETE", `/api/v2/webhooks/${id}`, { token });
  expect((await stream.next()).value).toMatchObject({ error: { code: "not_found" } });
  expect((await stream.next()).done).toBe(true);
});

test.each([
  ["Connect", () => createConnectTransport({ baseUrl: app.url, httpVersion: "1.1" })],
  ["gRPC", () => createGrpcTransport({ baseUrl: app.url })],
  ["gRPC-Web", () => createGrpcWebTransport({ baseUrl: app.url, httpVersion: "1.1" })],
])("a stream of deliveries over %s has every change from its head on", async (_, transport) => {
  const id = await register("http://127.0.0.1:9/");
  const client = createClient(WebhooksService, transport());
  const stop = new AbortController();
  const head = Promise.withResolvers<Headers>();
  const stream = client
    .watchDeliveries(
      { webhookId: id },
      { headers: { authorization: `Bearer ${token}` }, signal: stop.signal, onHeader: head.resolve },
    )
    [Symbol.asyncIterator]();
  const next = stream.next();
  expect((await head.promise).get("x-request-id")).not.toBeNull();
  const sent = await send(id);
  expect((await next).value?.deliveryId).toBe(sent);
  stop.abort();
  await stream.next().catch(() => undefined);
});

test("a delivery is read with its request, without signatures", async () => {
  const receiver = await startReceiver();
  const id = await register(receiver.url);
  const sent = await send(id);
  const [post] = await receiver.waitFor(1);
  const path = `/api/v2/webhooks/${id}/deliveries`;
  await expect.poll(async () => (await app.call("GET", `${path}/${sent}`, { token })).body.status).toBe("delivered");
  const { body } = await app.call("GET", `${path}/${sent}`, { token });
  const [listed] = (await app.call("GET", path, { token })).body.data;
  expect(listed.request).toBeUndefined();
  expect(body).toEqual({ ...listed, request: body.request });
  expect(body.request).toEqual({
    url: receiver.url,
    headers: {
      "content-type": "application/json",
      "webhook-id": listed.event_id,
      "webhook-timestamp": post?.headers["webhook-timestamp"],
    },
    body: post?.body,
  });
  const other = await register("http://127.0.0.1:9/");
  const foreign = await app.call("GET", `/api/v2/webhooks/${other}/deliveries/${sent}`, { token });
  expect(outcome(foreign)).toBe("404 not_found");
  await receiver.close();
});

test("requests to a publisher are listed newest first, and their signatures are not kept", async () => {
  const market = await openMarket(app);
  const offer = await market.offer(({ type }, nth) => {
    if (type !== "install.provisioning") return { status: 204 };
    return nth === 1 ? { status: 500, body: { message: "busy\u0000" } } : { status: 200 };
  });
  const { install_id: installId } = (await offer.install()).body;
  await market.until(installId, "active");
  const path = `/api/marketplace/apps/${offer.appId}/installs/${installId}/calls`;
  const { body, text } = await app.call("GET", path, { token: market.publisher });
  expect(body.data).toMatchObject([
    { type: "install.provisioning", url: offer.server.url, status_code: 200, error: null },
    { type: "install.provisioning", url: offer.server.url, status_code: 500, error: null },
  ]);
  expect(JSON.parse(body.data[0].request_body).data.install_id).toBe(installId);
  expect(text).not.toContain("whsec_");
  expect(text).not.toMatch(/v1[=,]/u);
  const stranger = await founder(app);
  expect(outcome(await app.call("GET", path, { token: stranger.token }))).toBe("404 app_not_found");
  const unknown = path.replace(installId as string, "0b1d2a3e-aaaa-4000-8000-00000000000f");
  expect(outcome(await app.call("GET", unknown, { token: market.publisher }))).toBe("404 install_not_found");
  await market.close();
});
