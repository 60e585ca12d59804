import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import { ConnectError, Code, createConnectRouter } from "@connectrpc/connect";
import { compressionGzip } from "@connectrpc/connect-node";
import { errors, ServiceError } from "../platform/errors.ts";
import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Precondition, ServiceRegistration } from "../platform/rpc.ts";
import type { Encoder } from "../transcoding/index.ts";
import { createDone } from "./access-log.ts";
import { callOf } from "./call.ts";
import type { AddressOf, Call } from "./call.ts";
import { connectError } from "./codes.ts";
import { connectHandlers } from "./connect.ts";
import type { CompiledRpc } from "./connect.ts";
import { createBodyBuffers } from "./buffers.ts";
import { createCors } from "./cors.ts";
import type { CorsOrigins } from "./cors.ts";
import { createGate, takesCredential } from "./gate/index.ts";
import type { Authenticators, Preconditions } from "./gate/index.ts";
import { createUnaryGrpc } from "./grpc-unary.ts";
import { healthService } from "./health.ts";
import type { IdempotencyStore } from "../platform/idempotency.ts";
import { createListener, defaultLimits } from "./listener.ts";
import type { TransportLimits } from "./listener.ts";
import { createPipeline } from "./pipeline.ts";
import type { Pipeline, Share, StreamCall, UnaryCall } from "./pipeline.ts";
import { compilePolicies } from "./policy.ts";
import type { Policy } from "./policy.ts";
import { createRates } from "./rates.ts";
import type { RateLimiter } from "./rates.ts";
import { reflectionServices } from "./reflection.ts";
import { createReporter } from "./reporter.ts";
import type { Fail } from "./reporter.ts";
import { restTranscoder } from "./rest.ts";
import { createRoutes } from "./routes.ts";
import type { Handover, PlainHandler } from "./routes.ts";
import { createRefuseUnread } from "./procedure-refusals.ts";
import { createTries } from "./tries.ts";
import type { TriesDeps } from "./tries.ts";
import { createStreamSlots } from "./streams.ts";
import type { StreamSlots } from "./streams.ts";

export type { Authenticators } from "./gate/index.ts";
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
  /** Tries to sign in; without them failures have no consequence. */
  tries?: TriesDeps | undefined;
  /** `SERVICE_RATE_LIMITS`; off keeps only what interface.md states. */
  rateLimits: boolean;
  corsOrigins: CorsOrigins;
  /** `SERVICE_REFLECTION`. */
  reflection: boolean;
  /** Whether gRPC health says SERVING. */
  ready: () => boolean | Promise<boolean>;
  addressOf: AddressOf;
  /** Whether an address is a trusted proxy's (`SERVICE_TRUSTED_PROXIES`). */
  isTrusted: (address: string) => boolean;
  metrics: Metrics;
  log: Log;
  /** Printers for media types other than JSON, for rpcs that declare them. */
  encoders?: Readonly<Record<string, Encoder>> | undefined;
  /** Runs the calls of authenticated callers, where something watches over what they do. */
  during?: ((name: string, work: () => Promise<Message>) => Promise<Message>) | undefined;
  /** Runs what a request asks of the database, so that it counts to its caller's share of the connections. */
  sharing?: Share | undefined;
  /** Pages that are no rpcs. */
  extra?: PlainHandler | undefined;
  limits?: Partial<TransportLimits> | undefined;
}

/** A server that can be started once. */
export interface Server {
  listen(): Promise<void>;
  address(): AddressInfo;
  /** Whether the server is being closed. */
  draining(): boolean;
  /** Refuses new calls with 503, lets running ones finish for `graceMs`, then ends them and stops listening. */
  close(graceMs: number): Promise<void>;
}

/** What runs when the grace is nearly over is told so, and gets this long to say so to its client, milliseconds. */
const LAST_MS = 500;

/** Builds the server; throws at once when the contract lacks an access declaration or bindings overlap. */
export function createServer(options: ServerOptions): Server {
  const { log } = options;
  const limits: TransportLimits = { ...defaultLimits, ...options.limits };
  const draining = new AbortController();
  const shutdown = new AbortController();
  const policies = compilePolicies(options.services.map(({ service }) => service));
  const rates = createRates(
    options.limiter,
    options.rateLimits,
    options.tries === undefined ? undefined : createTries(options.tries),
  );
  const gate = createGate(policies.values(), {
    authenticators: options.authenticators,
    rates,
    preconditions: preconditionsOf(options.services, options.sharing),
  });
  const slots = createStreamSlots();
  const pipeline = createPipeline({ gate, rates, store: options.idempotency, slots, share: options.sharing });
  const rpcs = options.services.flatMap((entry) => compileService(entry, policies, pipeline, options.during));
  const fail = createReporter(log);
  const bodies = createBodyBuffers(limits.bufferedBytes);
  const record = createDone(log, options.metrics);
  const done = (call: Call, status: number): void => {
    bodies.release(call.request);
    record(call, status);
  };
  const handover: Handover = { call: undefined };

  const procedures = connectHandlers(rpcs, gate, fail, shutdown.signal);
  for (const [path, handler] of infrastructure(options, slots, fail, draining.signal, shutdown.signal))
    procedures.set(path, handler);
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
      refuseUnread: createRefuseUnread(gate, fail),
      headerBytes: limits.headerBytes,
      bodyMs: limits.bodyMs,
      draining: () => draining.signal.aborted,
      refusesBody: bodies.refuses,
      done,
    },
    handover,
  );
  const unaryGrpc = createUnaryGrpc({
    rpcs,
    gate,
    fail,
    done,
    shutdownSignal: shutdown.signal,
    addressOf: options.addressOf,
    headerBytes: limits.headerBytes,
  });
  const listener = createListener({
    host: options.host,
    port: options.port,
    tls: options.tls,
    limits,
    isTrusted: options.isTrusted,
    handler,
    bodies,
    unaryGrpc,
  });
  return {
    listen: listener.listen,
    address: listener.address,
    draining: () => draining.signal.aborted,
    async close(graceMs) {
      draining.abort();
      const lastMs = Math.min(LAST_MS, graceMs);
      await Promise.race([listener.drain(), sleep(graceMs - lastMs, undefined, { ref: false })]);
      // Health watches have been told; what still runs is told now.
      shutdown.abort(new ConnectError("the server is shutting down", Code.Unavailable));
      await listener.close(lastMs);
    },
  };
}

function compileService(
  { service, implementation }: ServiceRegistration,
  policies: ReadonlyMap<DescMethod, Policy>,
  pipeline: Pipeline,
  during: ServerOptions["during"],
): CompiledRpc[] {
  return service.methods.map((method) => {
    const policy = policies.get(method) as Policy;
    const found = (implementation as Record<string, ((...args: never[]) => unknown) | undefined>)[
      method.localName
    ]?.bind(implementation);
    if (method.methodKind === "unary")
      return {
        policy,
        run: pipeline.unary(policy, watched(policy, (found as UnaryCall | undefined) ?? unbuilt, during)),
      };
    if (method.methodKind !== "server_streaming") throw new Error(`${policy.path}: client streams are not served`);
    return { policy, run: pipeline.stream(policy, (found as StreamCall | undefined) ?? unbuilt) };
  });
}

function watched(policy: Policy, run: UnaryCall, during: ServerOptions["during"]): UnaryCall {
  if (during === undefined || !takesCredential(policy)) return run;
  return (message, context) => during(policy.path, async () => run(message, context));
}

/** Returns the preconditions of the domains, each evaluated within the share of its caller. */
function preconditionsOf(services: readonly ServiceRegistration[], share: Share | undefined): Preconditions {
  return new Map(
    services.flatMap(({ service, preconditions = {} }) =>
      service.methods.flatMap((method) => {
        const evaluate = (preconditions as Readonly<Record<string, Precondition | undefined>>)[method.localName];
        if (evaluate === undefined) return [];
        const inShare: Precondition = (caller) =>
          caller === undefined || share === undefined ? evaluate(caller) : share(caller, () => evaluate(caller));
        return [[method, inShare] as const];
      }),
    ),
  );
}

function unbuilt(): never {
  throw errors.unimplemented();
}

/** Health and reflection: no policies, no REST. Their streams count like all others. */
function infrastructure(
  options: ServerOptions,
  slots: StreamSlots,
  fail: Fail,
  draining: AbortSignal,
  shutdownSignal: AbortSignal,
) {
  const contract = options.services.map(({ service }) => service);
  const health = healthService(
    contract.map((service) => service.typeName),
    options.ready,
    draining,
  );
  const router = createConnectRouter({ acceptCompression: [compressionGzip], readMaxBytes: 64 * 1024, shutdownSignal });
  const services = [health, ...(options.reflection ? reflectionServices([...contract, health.service]) : [])];
  for (const { service, implementation } of services) {
    const found = { ...implementation } as unknown as Record<string, StreamCall | undefined>;
    for (const { localName, methodKind } of service.methods) {
      const run = found[localName];
      if (methodKind === "unary" || run === undefined) continue;
      found[localName] = limited((message, context) => slots.hold(context, () => run(message, context)), fail);
    }
    router.service(service, found as Record<string, never>);
  }
  return router.handlers.map((handler) => [handler.requestPath, handler] as const);
}

/** The stream, with errors of ours in the terms of Connect. */
function limited(run: StreamCall, fail: Fail): StreamCall {
  return async function* (message, context) {
    try {
      yield* run(message, context);
    } catch (reason) {
      if (!(reason instanceof ServiceError)) throw reason;
      throw connectError(fail(reason, callOf(context.values)));
    }
  };
}
