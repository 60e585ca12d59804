import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Attributes, Context, Span, SpanKind, Tracer } from "@opentelemetry/api";

/** Loaded and created when tracing starts. */
interface Active {
  tracer: Tracer;
  current: AsyncLocalStorage<Span>;
  childOf(span: Span | undefined): Context;
  remote(traceparent: string): Context | undefined;
  kinds: typeof SpanKind;
  /** SpanStatusCode.ERROR */
  failed: number;
}

let active: Active | undefined;

/** How long a shutdown waits until the receiver has taken the last spans. */
const FLUSH_MS = 2_000;

/** Where traces are sent, and the service version in them. */
export interface TracingOptions {
  /** `OTEL_EXPORTER_OTLP_ENDPOINT`: base URL of an OTLP/HTTP receiver. */
  endpoint: string;
  version: string;
}

/**
 * Starts tracing. Before that, OpenTelemetry is not loaded, and the functions of this file only call `work`.
 * @returns a function that sends the remaining spans and stops tracing.
 */
export async function startTracing(options: TracingOptions): Promise<() => Promise<void>> {
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
  ]);
  const exporter = new OTLPTraceExporter({ url: `${options.endpoint.replace(/\/$/, "")}/v1/traces` });
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({ "service.name": "atrium", "service.version": options.version }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter })],
  });
  const mine: Active = {
    tracer: provider.getTracer("atrium", options.version),
    current: new AsyncLocalStorage(),
    childOf: (span) => (span === undefined ? api.ROOT_CONTEXT : api.trace.setSpan(api.ROOT_CONTEXT, span)),
    remote: (traceparent) => {
      const found = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent);
      if (found === null) return undefined;
      const [, traceId = "", spanId = "", flags = ""] = found;
      return api.trace.setSpanContext(api.ROOT_CONTEXT, {
        traceId,
        spanId,
        traceFlags: Number.parseInt(flags, 16),
        isRemote: true,
      });
    },
    kinds: api.SpanKind,
    failed: api.SpanStatusCode.ERROR,
  };
  active = mine;
  return async () => {
    if (active === mine) active = undefined;
    // An unavailable receiver does not delay the end of the process.
    const late = sleep(FLUSH_MS, undefined, { ref: false });
    await Promise.race([provider.shutdown().catch(() => undefined), late]);
  };
}

/** Whether traces are recorded. */
export function tracing(): boolean {
  return active !== undefined;
}

/** A span that the caller ends. */
export interface OpenSpan {
  /** Its trace, 32 hexadecimal digits. */
  readonly traceId: string;
  /** Ends it with its final name. `error` is the code of a failure, empty for success. */
  end(name: string, error: string, attributes: Attributes): void;
}

/**
 * Runs `work` in a span that continues the trace of `traceparent` (W3C Trace Context), or starts a trace. The span
 * stays open until `end` is called. `kind`: `server` for a received request, `consumer` for a message from a queue.
 */
export function continueTrace<T>(
  name: string,
  kind: "server" | "consumer",
  traceparent: string | undefined,
  work: (span: OpenSpan | undefined) => T,
): T {
  const on = active;
  if (on === undefined) return work(undefined);
  const parent = (traceparent === undefined ? undefined : on.remote(traceparent)) ?? on.childOf(undefined);
  const span = on.tracer.startSpan(name, { kind: kind === "server" ? on.kinds.SERVER : on.kinds.CONSUMER }, parent);
  const open: OpenSpan = {
    traceId: span.spanContext().traceId,
    end(finalName, error, attributes) {
      span.updateName(finalName);
      span.setAttributes(attributes);
      if (error !== "") span.setStatus({ code: on.failed, message: error });
      span.end();
    },
  };
  return on.current.run(span, () => work(open));
}

/** Adds attributes to the span of `work`; does nothing without one. */
export type Note = (attributes: Attributes) => void;

const noNote: Note = () => undefined;

/** Runs `work` in a child span of the current one. Outside a trace, only runs it. */
export function withSpan<T>(name: string, work: (note: Note) => T, attributes: Attributes = {}): T {
  const on = active;
  const parent = on?.current.getStore();
  if (on === undefined || parent === undefined) return work(noNote);
  const span = on.tracer.startSpan(name, { attributes, kind: on.kinds.CLIENT }, on.childOf(parent));
  return runIn(on, span, () => work((more) => void span.setAttributes(more)));
}

/**
 * As `continueTrace` for a message: the span ends when the promise of `work` settles. Without a trace, only runs it.
 */
export function handleTraced<T>(
  name: string,
  traceparent: string | null | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const on = active;
  const parent = traceparent === null || traceparent === undefined ? undefined : on?.remote(traceparent);
  if (on === undefined || parent === undefined) return work();
  return runIn(on, on.tracer.startSpan(name, { kind: on.kinds.CONSUMER }, parent), work);
}

/** Runs `work` outside the current trace: for work that a request triggers but that also serves others. */
export function withoutTrace<T>(work: () => T): T {
  return active === undefined ? work() : active.current.exit(work);
}

/** Runs `work` with `span` as the current one, and ends it afterwards. */
function runIn<T>(on: Active, span: Span, work: () => T): T {
  const fail = (error: unknown): never => {
    span.setStatus({ code: on.failed, message: error instanceof Error ? error.name : "error" });
    span.end();
    throw error;
  };
  let result: T;
  try {
    result = on.current.run(span, work);
  } catch (error) {
    return fail(error);
  }
  if (!(result instanceof Promise)) {
    span.end();
    return result;
  }
  return result.then((value: unknown) => {
    span.end();
    return value;
  }, fail) as T;
}

/**
 * `traceparent` of the current span, for headers and outbox messages; undefined outside a trace.
 */
export function currentTraceparent(): string | undefined {
  const context = active?.current.getStore()?.spanContext();
  return context === undefined
    ? undefined
    : `00-${context.traceId}-${context.spanId}-${context.traceFlags.toString(16).padStart(2, "0")}`;
}
