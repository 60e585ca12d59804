import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { registration } from "../../src/platform/rpc.ts";
import { continueTrace, currentTraceparent, startTracing, withSpan } from "../../src/platform/tracing.ts";
import { EchoService } from "./contract.ts";
import { start } from "./support.ts";
import type { Running } from "./support.ts";

interface Sent {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  status: { code: number };
}

const sent: Sent[] = [];
const receiver = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk: Buffer) => (body += chunk.toString()));
  request.on("end", () => {
    const { resourceSpans } = JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Sent[] }[] }[] };
    sent.push(...resourceSpans.flatMap((resource) => resource.scopeSpans.flatMap((scope) => scope.spans)));
    response.end("{}");
  });
});
let server: Running;
let carried: string | undefined;
let stop: () => Promise<void>;

beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  stop = await startTracing({ endpoint: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`, version: "1" });
  const hello = async () => {
    await withSpan("select 1", async () => new Promise((resolve) => setImmediate(resolve)));
    carried = currentTraceparent();
    return {};
  };
  server = await start({ services: [registration(EchoService, { hello } as never)] });
});
afterAll(async () => {
  await server.close();
  receiver.close();
});

test("one trace from the caller's over HTTP and SQL to the message that is left behind", async () => {
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  await server.fetch("/api/hello", { headers: { traceparent: `00-${trace}-00f067aa0ba902b7-01` } });
  await server.client("grpc").hello!({});
  await server.fetch("/api/me");
  const left = carried;
  continueTrace("outbox", "consumer", left, (span) => span?.end("install.requested", "", {}));
  expect(withSpan("outside", () => 7)).toBe(7);
  await stop();
  const named = (name: string): Sent[] => sent.filter((span) => span.name === name);
  const [rest, grpc] = named("atrium.echo.v1.EchoService/Hello");
  expect(rest).toMatchObject({ traceId: trace, parentSpanId: "00f067aa0ba902b7" });
  expect(named("select 1")[0]).toMatchObject({ traceId: trace, parentSpanId: rest?.spanId });
  expect(grpc?.traceId).not.toBe(trace);
  expect(named("install.requested")[0]).toMatchObject({ traceId: grpc?.traceId, parentSpanId: grpc?.spanId });
  expect(named("atrium.echo.v1.EchoService/Me")[0]?.status.code).toBe(2);
  expect(currentTraceparent()).toBeUndefined();
});

test("metrics on a port of their own", async () => {
  const { createMetrics } = await import("../../src/platform/metrics.ts");
  const { createMetricsPort } = await import("../../src/server/metrics-port.ts");
  const metrics = createMetrics({ defaults: true });
  metrics.gauge("test_gauge", "A gauge.", async () => Promise.resolve(7));
  metrics.observe("a/B", "rest", 0.2, "conflict");
  const port = createMetricsPort({ host: "127.0.0.1", port: 0, metrics });
  await port.listen();
  const url = `http://127.0.0.1:${port.address().port}`;
  const text = await (await fetch(`${url}/metrics`)).text();
  expect(text).toMatch(/^test_gauge 7$/m);
  expect(text).toMatch(/^rpc_duration_seconds_bucket\{rpc="a\/B",protocol="rest",le="0.25"\} 1$/m);
  expect(text).toMatch(/^process_cpu_user_seconds_total /m);
  expect((await fetch(url)).status).toBe(404);
  await port.close();
});
