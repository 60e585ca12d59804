import type { AddressInfo } from "node:net";
import type { DescMethod } from "@bufbuild/protobuf";
import { ConnectError, Code, createConnectRouter } from "@connectrpc/connect";
import { compressionGzip } from "@connectrpc/connect-node";
import { errors } from "../platform/errors.ts";
import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Demand, ServiceRegistration } from "../platform/rpc.ts";
import type { Encoder } from "../transcoding/index.ts";
import { createDone } from "./access-log.ts";
import type { AddressOf, Call } from "./call.ts";
import { connectHandlers } from "./connect.ts";
import type { CompiledRpc } from "./connect.ts";
import { createCors } from "./cors.ts";
import type { CorsOrigins } from "./cors.ts";
import { createGate } from "./gate.ts";
import type { Authenticators } from "./gate.ts";
import { healthService } from "./health.ts";
import type { IdempotencyStore } from "../platform/idempotency.ts";
import { createListener, defaultLimits } from "./listener.ts";
import type { TransportLimits } from "./listener.ts";
import { createPipeline } from "./pipeline.ts";
import type { StreamCall, UnaryCall } from "./pipeline.ts";
import { compilePolicies } from "./policy.ts";
import type { Policy } from "./policy.ts";
import { createRates } from "./rates.ts";
import type { RateLimiter } from "./rates.ts";
import { reflectionServices } from "./reflection.ts";
import { createReporter } from "./reporter.ts";
import { restTranscoder } from "./rest.ts";
import { createRoutes } from "./routes.ts";
import type { Handover, PlainHandler } from "./routes.ts";

export type { Authenticators } from "./gate.ts";
export type { IdempotencyScope, IdempotencyStore } from "../platform/idempotency.ts";
export type { Budget, RateLimiter } from "./rates.ts";
export type { TransportLimits } from "./listener.ts";
export type { CorsOrigins } from "./cors.ts";
export type { PlainHandler } from "./routes.ts";
export { compilePolicies } from "./policy.ts";
export type { Policy } from "./policy.ts";

/** Everything the server needs from outside. */
export interface ServerOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  tls?: { cert: string | Buffer; key: string | Buffer } | undefined;
  /** Services of the contract with what is built of them. */
  services: readonly ServiceRegistration[];
  authenticators: Authenticators;
  idempotency: Pick<IdempotencyStore, "begin">;
  limiter: RateLimiter;
  /** `SERVICE_RATE_LIMITS`; off keeps only what interface.md states. */
  rateLimits: boolean;
  corsOrigins: CorsOrigins;
  /** `SERVICE_REFLECTION`. */
  reflection: boolean;
  /** Whether gRPC health says SERVING. */
  ready: () => boolean | Promise<boolean>;
  addressOf: AddressOf;
  metrics: Metrics;
  log: Log;
  /** Printers for media types other than JSON, for rpcs that declare them. */
  encoders?: Readonly<Record<string, Encoder>> | undefined;
  /** Pages that are no rpcs. */
  extra?: PlainHandler | undefined;
  limits?: Partial<TransportLimits> | undefined;
}

/** A server that can be started once. */
export interface Server {
  listen(): Promise<void>;
  address(): AddressInfo;
  /** Stops taking calls, lets running ones finish for `graceMs`, then ends them. */
  close(graceMs: number): Promise<void>;
}

/** Builds the server; throws at once when the contract lacks an access declaration or bindings overlap. */
export function createServer(options: ServerOptions): Server {
  const { log } = options;
  const limits: TransportLimits = { ...defaultLimits, ...options.limits };
  const shutdown = new AbortController();
  const policies = compilePolicies(options.services.map(({ service }) => service));
  const rates = createRates(options.limiter, options.rateLimits);
  const gate = createGate(options.authenticators, rates, demandsOf(options.services));
  const pipeline = createPipeline(gate, rates, options.idempotency);
  const rpcs = options.services.flatMap((entry) => compileService(entry, policies, pipeline));
  const fail = createReporter(log);
  const done = createDone(log, options.metrics);
  const handover: Handover = { call: undefined };

  const procedures = connectHandlers(rpcs, gate, fail, shutdown.signal);
  for (const [path, handler] of infrastructure(options, shutdown.signal)) procedures.set(path, handler);
  const byPath = new Map([...policies.values()].map((policy) => [policy.path, policy]));
  const rest = restTranscoder({
    rpcs,
    policies,
    gate,
    fail,
    shutdownSignal: shutdown.signal,
    encoders: options.encoders ?? {},
    currentCall: () => handover.call as Call,
    done,
  });
  const handler = createRoutes(
    {
      procedures,
      policyOf: (found) => byPath.get(found.requestPath),
      rest,
      extra: options.extra,
      cors: createCors(options.corsOrigins),
      addressOf: options.addressOf,
      fail,
      headerBytes: limits.headerBytes,
      bodyMs: limits.bodyMs,
      done,
    },
    handover,
  );
  const listener = createListener({ host: options.host, port: options.port, tls: options.tls, limits, handler });
  return {
    listen: listener.listen,
    address: listener.address,
    async close(graceMs) {
      // Whoever watches is told first; ordinary calls have until shortly before the end.
      const timer = setTimeout(() => shutdown.abort(new ConnectError("the server is shutting down", Code.Unavailable)), Math.max(0, graceMs - 500));
      await listener.close(graceMs);
      clearTimeout(timer);
    },
  };
}

function compileService({ service, implementation }: ServiceRegistration, policies: ReadonlyMap<DescMethod, Policy>, pipeline: ReturnType<typeof createPipeline>): CompiledRpc[] {
  return service.methods.map((method) => {
    const policy = policies.get(method) as Policy;
    const found = (implementation as Record<string, ((...args: never[]) => unknown) | undefined>)[method.localName]?.bind(implementation);
    if (method.methodKind === "unary") return { policy, run: pipeline.unary(policy, (found as UnaryCall | undefined) ?? unbuilt) };
    if (method.methodKind !== "server_streaming") throw new Error(`${policy.path}: client streams are not served`);
    return { policy, run: pipeline.stream(policy, (found as StreamCall | undefined) ?? unbuilt) };
  });
}

function demandsOf(services: readonly ServiceRegistration[]): ReadonlyMap<DescMethod, Demand> {
  return new Map(
    services.flatMap(({ service, demands = {} }) => service.methods.flatMap((method) => {
      const demand = (demands as Readonly<Record<string, Demand | undefined>>)[method.localName];
      return demand === undefined ? [] : [[method, demand] as const];
    })),
  );
}

function unbuilt(): never {
  throw errors.unimplemented();
}

/** Health and reflection: no policies, no REST. */
function infrastructure(options: ServerOptions, shutdownSignal: AbortSignal) {
  const contract = options.services.map(({ service }) => service);
  const health = healthService(contract.map((service) => service.typeName), options.ready);
  const router = createConnectRouter({ acceptCompression: [compressionGzip], readMaxBytes: 64 * 1024, shutdownSignal });
  const services = [health, ...(options.reflection ? reflectionServices([...contract, health.service]) : [])];
  for (const { service, implementation } of services) router.service(service, implementation);
  return router.handlers.map((handler) => [handler.requestPath, handler] as const);
}
