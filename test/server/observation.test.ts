import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { registration } from "../../src/platform/rpc.ts";
import { createGuardedClient } from "../../src/platform/outgoing/client.ts";
import { continueTrace, currentTraceparent, handleTraced, startTracing, withSpan } from "../../src/platform/tracing.ts";
import { traceReceiver } from "../support/otlp.ts";
import type { TraceReceiver } from "../support/otlp.ts";
import { EchoService } from "./contract.ts";
import { start } from "./support.ts";
import type { Running } from "./support.ts";

let receiver: TraceReceiver;
let server: Running;
let carried: string | undefined;
let stop: () => Promise<void>;

beforeAll(async () => {
  receiver = await traceReceiver();
  stop = await startTracing({ endpoint: receiver.url, version: "1" });
  const hello = async () => {
    await withSpan("select 1", async () => new Promise((resolve) => setImmediate(resolve)));
    carried = currentTraceparent();
    return {};
  };
  server = await start({ services: [registration(EchoService, { hello } as never)] });
});
afterAll(async () => {
  await server.close();
  await receiver.close();
});

/** A server that stores the headers it receives. */
async function foreignServer() {
  const seen: { headers: object } = { headers: {} };
  const foreign = createServer((request, response) => {
    seen.headers = request.headers;
    response.end();
  });
  await new Promise<void>((resolve) => foreign.listen(0, "127.0.0.1", resolve));
  const close = () => new Promise<void>((resolve) => void foreign.close(() => resolve()));
  return Object.assign(seen, { url: `http://127.0.0.1:${(foreign.address() as AddressInfo).port}`, close });
}

test("one trace spans the caller, HTTP, SQL and the outbox message", async () => {
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  await server.fetch("/api/hello", { headers: { traceparent: `00-${trace}-00f067aa0ba902b7-01` } });
  await server.client("grpc").hello!({});
  await server.fetch("/api/me");
  const left = carried;
  const client = createGuardedClient({ allowLoopback: true });
  const peer = await foreignServer();
  await handleTraced("call", left, () => client.request({ method: "POST", url: `${peer.url}/hook?key=secret` }));
  await Promise.all([client.close(), peer.close()]);
  expect(peer.headers).not.toHaveProperty("traceparent");
  continueTrace("outbox", "consumer", left, (span) => span?.end("install.requested", "", {}));
  expect(withSpan("outside", () => 7)).toBe(7);
  await stop();
  const named = (name: string) => receiver.spans.filter((span) => span.name === name);
  const [rest, grpc] = named("atrium.echo.v1.EchoService/Hello");
  expect(rest).toMatchObject({ traceId: trace, parentSpanId: "00f067aa0ba902b7" });
  expect(named("select 1")[0]).toMatchObject({ traceId: trace, parentSpanId: rest?.spanId });
  expect(grpc?.traceId).not.toBe(trace);
  expect(named("install.requested")[0]).toMatchObject({ traceId: grpc?.traceId, parentSpanId: grpc?.spanId });
  const [outgoing] = named("HTTP POST");
  expect(outgoing).toMatchObject({ traceId: grpc?.traceId, parentSpanId: named("call")[0]?.spanId });
  expect(JSON.stringify(outgoing)).toContain('"http.response.status_code"');
  expect(JSON.stringify(outgoing)).not.toContain("secret");
  expect(named("atrium.echo.v1.EchoService/Me")[0]?.status.code).toBe(2);
  expect(currentTraceparent()).toBeUndefined();
});

test("metrics and probes are served on a port of their own", async () => {
  const { createMetrics } = await import("../../src/platform/metrics.ts");
  const { createMetricsPort } = await import("../../src/server/metrics-port.ts");
  const metrics = createMetrics({ defaults: true });
  let isReady = true;
  const readiness = async () => Promise.resolve({ isReady, report: { status: isReady ? "ok" : "unavailable" } });
  metrics.gauge("test_gauge", "A gauge.", async () => Promise.resolve(7));
  metrics.gauge("test_broken", "A gauge that cannot be read.", async () => Promise.reject(new Error("away")));
  metrics.gauges("test_parts", "Parts.", "part", () => ({ one: 1, two: 2 }));
  metrics.observe("a/B", "rest", 0.2, "conflict");
  const port = createMetricsPort({ host: "127.0.0.1", port: 0, metrics, readiness });
  await port.listen();
  const url = `http://127.0.0.1:${port.address().port}`;
  const text = await (await fetch(`${url}/metrics`)).text();
  expect(text).toMatch(/^test_gauge 7$/m);
  expect(text).toMatch(/^test_parts\{part="two"\} 2$/m);
  expect(text).not.toMatch(/^test_broken/m);
  expect(text).toMatch(/^atrium_rpc_duration_seconds_bucket\{rpc="a\/B",protocol="rest",le="0.25"\} 1$/m);
  expect(text).toMatch(/^process_cpu_user_seconds_total /m);
  expect((await fetch(url)).status).toBe(404);
  const probe = async (path: string) => {
    const answer = await fetch(`${url}${path}`);
    return [answer.status, await answer.json()];
  };
  expect(await probe("/healthz")).toEqual([200, { status: "ok" }]);
  expect(await probe("/readyz")).toEqual([200, { status: "ok" }]);
  isReady = false;
  expect(await probe("/readyz")).toEqual([503, { status: "unavailable" }]);
  await port.close();
});
