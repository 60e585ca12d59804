import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { silentLog } from "../../src/platform/log.ts";
import { createTemporalClient } from "../../src/platform/temporal/client.ts";
import type { TemporalTarget, TemporalTls } from "../../src/platform/temporal/connection.ts";
import { createTemporalWorker } from "../../src/worker/worker.ts";
import { makeIdentity } from "../outgoing/identity.ts";
import { startApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import { freePort } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";
import type { TestNamespace } from "../support/temporal.ts";
import { startTemporalProxy } from "./temporal-proxy.ts";
import type { TemporalProxy } from "./temporal-proxy.ts";

const SERVER_NAME = "temporal.test";
const API_KEY = "key of the tests";
const UNAUTHENTICATED = 16;

let server: TestNamespace;
let identity: Awaited<ReturnType<typeof makeIdentity>>;
/** Demands certificates of clients. */
let strict: TemporalProxy;
beforeAll(async () => {
  server = await temporalServer();
  identity = await makeIdentity(SERVER_NAME);
  strict = await startTemporalProxy(server.address, { ...identity, clientCa: identity.ca });
});
afterAll(() => strict.close());

test("installs run over TLS with an API key, which every call carries beside the namespace", async () => {
  let isKeyAccepted = true;
  const proxy = await startTemporalProxy(server.address, identity, ({ authorization }) =>
    isKeyAccepted && authorization === `Bearer ${API_KEY}`
      ? undefined
      : { status: UNAUTHENTICATED, message: "Request unauthorized." },
  );
  const { port } = proxy;
  const tls = { ca: identity.ca, serverName: SERVER_NAME };
  const temporal: TemporalTarget = {
    address: `localhost:${port}`,
    namespace: server.namespace,
    apiKey: API_KEY,
    tls,
  };
  const app = await startApp({ role: "all", temporal, clock: systemClock });
  const market = await openMarket(app);
  const health = async () => {
    const { temporal: state, worker } = (await app.call("GET", "/readyz")).body as Record<string, string>;
    return [state, worker];
  };
  const install = async () => {
    const offer = await market.offer(() => ({ status: 200 }));
    return (await offer.install()).body.install_id as string;
  };
  try {
    await market.until(await install(), "active");
    const carried = proxy.calls.map((call) => [call.authorization, call["temporal-namespace"]].join(", "));
    expect([...new Set(carried)]).toEqual([`Bearer ${API_KEY}, ${server.namespace}`]);
    expect(proxy.calls.map((call) => call[":path"]?.split("/").at(-1))).toEqual(
      expect.arrayContaining(["DescribeNamespace", "GetSystemInfo", "PollWorkflowTaskQueue"]),
    );

    isKeyAccepted = false;
    const refused = "not usable: Request unauthorized.";
    await expect.poll(health).toEqual([refused, `Temporal is ${refused}`]);
    const waiting = await install();
    isKeyAccepted = true;
    await market.until(waiting, "active");
    await expect.poll(health).toEqual(["ok", "ok"]);
  } finally {
    await market.close();
    await app.close();
    await proxy.close();
  }
});

/** How Temporal is on another port or with other settings of TLS. */
async function healthAt(tls: boolean | TemporalTls, port = strict.port) {
  const client = createTemporalClient({ address: `localhost:${port}`, namespace: server.namespace, tls });
  try {
    return await client.health();
  } finally {
    await client.close();
  }
}

test("health names in one line why Temporal is not reachable", async () => {
  const known = { ca: identity.ca, serverName: SERVER_NAME };
  const away = (reason: string | RegExp) => ({ state: "not reachable", reason: expect.stringMatching(reason) });
  await expect.poll(() => healthAt({ ...known, cert: identity.cert, key: identity.key })).toEqual({ state: "ok" });
  await expect.poll(() => healthAt(true)).toEqual(away(/^self-signed certificate in certificate chain$/u));
  await expect
    .poll(() => healthAt({ ca: identity.ca }))
    .toEqual(away(/^Hostname\/IP does not match certificate's altnames: .*test$/u));
  await expect.poll(() => healthAt(known)).toEqual(away(/^tlsv13 alert certificate required$/u));
  await expect.poll(() => healthAt(false)).toEqual(away(/^Failed to connect$/u));
  const closed = await freePort();
  await expect.poll(() => healthAt(false, closed)).toEqual(away(/^connect ECONNREFUSED [^ ]+$/u));
});

test("a worker that a server refuses in one way or another warns once", async () => {
  const warnings: unknown[] = [];
  const proxy = await startTemporalProxy(server.address, { ...identity, clientCa: identity.ca });
  onTestFinished(() => proxy.close());
  const worker = createTemporalWorker({
    connection: { address: `localhost:${proxy.port}`, tls: { serverNameOverride: SERVER_NAME } },
    namespace: server.namespace,
    taskQueue: "nobody",
    activities: {},
    clock: systemClock,
    log: Object.assign(Object.create(silentLog) as typeof silentLog, { warn: (line: unknown) => warnings.push(line) }),
    graceMs: 0,
    isReachable: () => Promise.resolve(true),
  });
  worker.start();
  onTestFinished(() => worker.stop());
  await expect.poll(() => worker.failures().count).toBeGreaterThan(0);
  await proxy.close();
  const seen = worker.failures().count;
  await expect.poll(() => worker.failures().count).toBeGreaterThan(seen + 1);
  expect(warnings).toHaveLength(1);
});
