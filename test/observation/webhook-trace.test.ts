import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { traceReceiver } from "../support/otlp.ts";
import type { SentSpan, TraceReceiver } from "../support/otlp.ts";
import { temporalServer } from "../support/temporal.ts";
import { startReceiver } from "../webhooks/receiver.ts";

let receiver: TraceReceiver;
let app: TestApp;
beforeAll(async () => {
  receiver = await traceReceiver();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, SERVICE_WEBHOOK_SCHEDULE: "0s,100ms,100ms" };
  app = await startApp({ role: "all", temporal: await temporalServer(), clock: systemClock, env });
});
afterAll(() => receiver.close());

test("delivery attempts, also those of a workflow, belong to the trace of the request that caused them", async () => {
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const token = await app.login();
  const hook = await startReceiver((_post, nth) => (nth === 1 ? 500 : 200));
  const { body } = await app.call("POST", "/api/v2/webhooks", {
    token,
    body: { url: hook.url, events: ["api_key.created"] },
  });
  const { org_uuid: org } = (await app.call("GET", "/api/auth/me", { token })).body;
  await app.call("POST", `/api/admin/organizations/${org}/api-keys`, {
    token,
    body: { name: "Traced", scopes: ["read:users"] },
    headers: { traceparent: `00-${trace}-00f067aa0ba902b7-01` },
  });
  await hook.waitFor(2);
  // The owner of the URL must not learn anything about our requests.
  expect(hook.got.map(({ headers }) => headers["traceparent"])).toEqual([undefined, undefined]);
  const deliveries = () => app.call("GET", `/api/v2/webhooks/${body.webhook_id}/deliveries`, { token });
  for (
    const end = Date.now() + 120_000;
    (await deliveries()).body.data[0].status !== "delivered" && Date.now() < end;
    await new Promise((resolve) => setTimeout(resolve, 25))
  );
  await hook.close();
  await app.close();

  const byId = new Map(receiver.spans.map((span) => [span.spanId, span]));
  const path = (span: SentSpan | undefined): string[] =>
    span === undefined ? [] : [...path(byId.get(span.parentSpanId ?? "")), span.name];
  const calls = receiver.spans.filter(({ name }) => name === "HTTP POST");
  expect(calls.map(({ traceId }) => traceId)).toEqual([trace, trace]);
  const request = "atrium.credentials.v1.CredentialsService/CreateApiKey";
  for (const call of calls) expect(path(call)).toEqual([request, "webhook delivery", "HTTP POST"]);
  expect(receiver.spans.map(({ name }) => name)).not.toContain("SQL webhooks-take-first");
});
