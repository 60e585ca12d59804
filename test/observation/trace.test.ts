import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import type { Market } from "../support/market.ts";
import { traceReceiver } from "../support/otlp.ts";
import type { SentSpan, TraceReceiver } from "../support/otlp.ts";
import { freePort } from "../support/postgres.ts";
import { temporalServer } from "../support/temporal.ts";

let receiver: TraceReceiver;
let app: TestApp;
let market: Market;
let metricsPort: number;
beforeAll(async () => {
  receiver = await traceReceiver();
  metricsPort = await freePort();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, SERVICE_METRICS_PORT: String(metricsPort) };
  app = await startApp({ role: "all", temporal: await temporalServer(), clock: systemClock, env });
  market = await openMarket(app);
});
afterAll(() => receiver.close());

test("an install is one trace: request, statements, message, workflow, activity, call to the publisher", async () => {
  const trace = "0af7651916cd43dd8448eb211c80319c";
  const offer = await market.offer(() => ({ status: 200 }));
  const { body } = await app.call("POST", `/api/marketplace/${offer.slug}/install`, {
    token: market.buyer,
    body: {},
    headers: { traceparent: `00-${trace}-b7ad6b7169203331-01` },
  });
  await market.until(body.install_id, "active");

  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  for (const line of [
    /^atrium_worker_running 1$/mu,
    /^atrium_worker_failures \d+$/mu,
    /^atrium_temporal_up 1$/mu,
    /^atrium_dispatcher_running\{topic="mail\.send"\} \d+$/mu,
    /^atrium_webhook_attempts_running \d+$/mu,
    /^atrium_poller_runs_total\{poller="outbox:mail\.send"\} [1-9]\d*$/mu,
    /^atrium_poller_failures_total\{poller="webhook-first-attempts"\} 0$/mu,
    /^atrium_poller_last_success_timestamp_seconds\{poller="audit-linker"\} [\d.]+$/mu,
  ]) {
    expect(text).toMatch(line);
  }
  expect((await app.call("GET", "/metrics")).status).toBe(404);

  await market.close();
  await app.close();
  await expect(fetch(`http://127.0.0.1:${metricsPort}/metrics`)).rejects.toThrow();

  const byId = new Map(receiver.spans.map((span) => [span.spanId, span]));
  const ours = receiver.spans.filter((span) => span.traceId === trace);
  /** Names from the request down to the span. */
  const path = (span: SentSpan | undefined): string[] =>
    span === undefined ? [] : [...path(byId.get(span.parentSpanId ?? "")), span.name];
  const pathTo = (name: RegExp): string[] => path(ours.find((span) => name.test(span.name)));
  const request = "atrium.marketplace.v1.BuyerService/InstallApp";
  const message = [request, "outbox install.changed", "start driveInstall"];
  expect(pathTo(/^SQL insert outbox$/u)).toEqual([request, "SQL insert outbox"]);
  expect(pathTo(/^activity next/u)).toEqual([...message, "activity nextInstallStep"]);
  expect(pathTo(/^HTTP POST$/u)).toEqual([...message, "activity attemptInstallStep", "HTTP POST"]);
  const inActivity = ours.filter(
    ({ name, parentSpanId = "" }) =>
      name.startsWith("SQL ") && byId.get(parentSpanId)?.name === "activity attemptInstallStep",
  );
  expect(inActivity).not.toEqual([]);
  // Work caused by a nudge serves all requests and belongs to none.
  expect(receiver.spans.map(({ name }) => name)).not.toContain("SQL outbox-claim");
  const values = JSON.stringify(receiver.spans.flatMap((span) => [span.name, span.attributes]));
  for (const secret of [app.owner.password, market.buyer, offer.secret]) expect(values).not.toContain(secret);
});
