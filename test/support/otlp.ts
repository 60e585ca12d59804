import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A span as OTLP/HTTP sends it. */
export interface SentSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  kind: number;
  status: { code: number };
  attributes: { key: string; value: Record<string, unknown> }[];
}

/** A receiver of traces on a free loopback port. */
export interface TraceReceiver {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  url: string;
  /** Every span received. */
  spans: SentSpan[];
  close(): Promise<void>;
}

/** Starts a receiver; spans arrive in batches, the last when the sender ends. */
export async function traceReceiver(): Promise<TraceReceiver> {
  const spans: SentSpan[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const { resourceSpans } = JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[] };
      spans.push(...resourceSpans.flatMap((resource) => resource.scopeSpans.flatMap((scope) => scope.spans)));
      response.end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
