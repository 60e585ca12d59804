import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { DescMethod } from "@bufbuild/protobuf";
import { ConnectError, Code } from "@connectrpc/connect";
import type { IdempotencyStore } from "../platform/idempotency.ts";
import { createSignInAttempts } from "../platform/limits/index.ts";
import type { SignInAttemptsDeps, StreamPlaces } from "../platform/limits/index.ts";
import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { ServiceRegistration } from "../platform/rpc.ts";
import type { Encoder } from "../transcoding/index.ts";
import { createCallRecorder } from "./access-log.ts";
import type { AddressOf, Call } from "./call.ts";
import { connectHandlers } from "./connect.ts";
import type { CompiledRpc } from "./connect.ts";
import { createBodyBuffers } from "./buffers.ts";
import type { BodyBuffers } from "./buffers.ts";
import { createAddresses } from "./connections.ts";
import { createCors } from "./cors.ts";
import type { CorsOrigins } from "./cors.ts";
import { createGate } from "./gate/index.ts";
import type { Authenticators, Gate } from "./gate/index.ts";
import { createUnaryGrpc } from "./grpc-unary.ts";
import { infrastructureHandlers } from "./infrastructure.ts";
import { createListener } from "./listener.ts";
import type { Listener, ListenerOptions } from "./listener.ts";
import type { VerifyCertificate } from "./mtls/client-certificate.ts";
import { createPipeline } from "./pipeline.ts";
import type { Share } from "./pipeline.ts";
import { compilePolicies } from "./policy.ts";
import type { Policy } from "./policy.ts";
import { createRates } from "./rates.ts";
import type { RateLimiter } from "./rates.ts";
import { createReporter } from "./reporter.ts";
import { restTranscoder } from "./rest.ts";
import { createRoutes } from "./routes.ts";
import type { Handover, PlainHandler } from "./routes.ts";
import { createRefuseUnread } from "./procedure-refusals.ts";
import { createSessionCookies } from "./session-cookie.ts";
import type { SessionCookieConfig } from "./session-cookie.ts";
import { compileService, preconditionsOf } from "./services.ts";
import type { HandlerWrapper } from "./services.ts";
import { createStreamSlots } from "./streams.ts";
import type { StreamSlots } from "./streams.ts";
import { defaultLimits } from "./transport-limits.ts";
import type { TransportLimits } from "./transport-limits.ts";

/** Everything the server needs from outside. */
export interface ServerOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  tls?: { cert: string | Buffer; key: string | Buffer } | undefined;
  /** A second port that asks clients for a certificate (decisions 7.6); undefined: none. */
  mutualTls?: MutualTls | undefined;
  /** Services of the contract with their implementations. */
  services: readonly ServiceRegistration[];
  authenticators: Authenticators;
  idempotency: Pick<IdempotencyStore, "begin">;
  limiter: RateLimiter;
  /** Undefined: each instance counts the streams of a principal for itself. */
  streamPlaces?: StreamPlaces | undefined;
  /** Counting of sign-in attempts; without it failed attempts have no consequence. */
  signInAttempts?: SignInAttemptsDeps | undefined;
  /** `SERVICE_RATE_LIMITS`; when off, only the limit that interface.md states applies. */
  rateLimits: boolean;
  corsOrigins: CorsOrigins;
  /** Undefined: no cookie mode. */
  sessionCookie?: SessionCookieConfig | undefined;
  /** `SERVICE_REFLECTION`. */
  reflection: boolean;
  /** Whether gRPC health reports SERVING. */
  ready: () => boolean | Promise<boolean>;
  addressOf: AddressOf;
  /** Whether an address is a trusted proxy's (`SERVICE_TRUSTED_PROXIES`). */
  isTrusted: (address: string) => boolean;
  metrics: Metrics;
  log: Log;
  /** Encoders for media types other than JSON, for rpcs that declare them. */
  encoders?: Readonly<Record<string, Encoder>> | undefined;
  wrapHandler?: HandlerWrapper | undefined;
  /** Runs work on behalf of a caller, within the caller's share of the database connections. */
  sharing?: Share | undefined;
  /** Handler of pages that are not rpcs. */
  extra?: PlainHandler | undefined;
  limits?: Partial<TransportLimits> | undefined;
}

/** The port of mutual TLS. */
export interface MutualTls {
  /** 0: any free port. */
  port: number;
  /** Returns the certificate and key of the server, PEM; called once, when the server starts. */
  identity(): Promise<{ cert: string | Buffer; key: string | Buffer }>;
  verify: VerifyCertificate;
}

/** A server. It can be started once. */
export interface Server {
  listen(): Promise<void>;
  address(): AddressInfo;
  /** Where mutual TLS is served; undefined without it. */
  mutualTlsAddress(): AddressInfo | undefined;
  /** Whether the server is being closed. */
  draining(): boolean;
  /** Refuses new calls with 503, lets running ones finish for `graceMs`, then ends them and stops listening. */
  close(graceMs: number): Promise<void>;
}

/** Time between the abort of calls that still run and the end of the grace period, for their last responses. */
const LAST_MS = 500;
/**
 * How long connections are accepted after the last running call. A client whose connection ended connects again at
 * once, and takes a reset of the new one for a call that may have had an effect; it is refused with 503 instead. In
 * steps: each turn of the event loop reads what has arrived, also after the process was blocked for longer.
 */
const REFUSING = { steps: 10, stepMs: 10 };

/**
 * Creates the server.
 * @throws Error when an rpc declares no access or bindings overlap
 */
export function createServer(options: ServerOptions): Server {
  const limits: TransportLimits = { ...defaultLimits, ...options.limits };
  const draining = new AbortController();
  const shutdown = new AbortController();
  const bodies = createBodyBuffers(limits.bufferedBytes);
  const shared = {
    host: options.host,
    limits,
    addresses: createAddresses(options.isTrusted, limits.connections),
    bodies,
    ...createHandlers(options, { limits, bodies, draining: draining.signal, shutdown: shutdown.signal }),
  };
  const listener = createListener({ ...shared, port: options.port, tls: options.tls });
  const { mutualTls } = options;
  let mutual: Listener | undefined;
  const listeners = (): Listener[] => (mutual === undefined ? [listener] : [listener, mutual]);
  return {
    async listen() {
      if (mutualTls !== undefined) {
        const { port, verify } = mutualTls;
        mutual = createListener({ ...shared, port, tls: await mutualTls.identity(), verifyCertificate: verify });
      }
      await Promise.all(listeners().map((one) => one.listen()));
    },
    address: listener.address,
    mutualTlsAddress: () => mutual?.address(),
    draining: () => draining.signal.aborted,
    async close(graceMs) {
      draining.abort();
      const lastMs = Math.min(LAST_MS, graceMs);
      const drained = Promise.all(listeners().map((one) => one.drain())).then(refuseMore);
      await Promise.race([drained, sleep(graceMs - lastMs, undefined, { ref: false })]);
      // Streams that follow changes ended with `draining`; this ends the calls that still run.
      shutdown.abort(new ConnectError("the server is shutting down", Code.Unavailable));
      await Promise.all(listeners().map((one) => one.close(lastMs)));
    },
  };
}

async function refuseMore(): Promise<void> {
  for (let step = 0; step < REFUSING.steps; step++) await sleep(REFUSING.stepMs);
}

/** What the handlers share with the listeners. */
interface HandlerParts {
  limits: TransportLimits;
  bodies: BodyBuffers;
  /** Aborted when the server begins to close. */
  draining: AbortSignal;
  /** Aborted when calls that still run are ended. */
  shutdown: AbortSignal;
}

/** Creates the handlers of every protocol: `unaryGrpc` takes unary calls of gRPC, and `handler` all other requests. */
function createHandlers(options: ServerOptions, parts: HandlerParts): Pick<ListenerOptions, "handler" | "unaryGrpc"> {
  const { log, addressOf } = options;
  const { limits, bodies, draining, shutdown } = parts;
  const slots = createStreamSlots(options.streamPlaces);
  const { policies, gate, rpcs } = compileRpcs(options, slots, draining);
  const fail = createReporter(log);
  const record = createCallRecorder(log, options.metrics);
  const done = (call: Call, status: number): void => {
    bodies.release(call.request);
    record(call, status);
  };
  const handover: Handover = { call: undefined };

  const procedures = connectHandlers(rpcs, gate, fail, shutdown, limits.messageBytes);
  for (const [path, handler] of infrastructureHandlers(options, slots, fail, draining, shutdown))
    procedures.set(path, handler);
  const cors = createCors(options.corsOrigins);
  const byPath = new Map([...policies.values()].map((policy) => [policy.path, policy]));
  const rest = restTranscoder({
    rpcs,
    policies,
    gate,
    fail,
    shutdownSignal: shutdown,
    encoders: options.encoders ?? {},
    variesByOrigin: cors.varies,
    currentCall: () => handover.call as Call,
    done,
  });
  const handler = createRoutes(
    {
      procedures,
      policyOf: (found) => byPath.get(found.requestPath),
      rest,
      extra: options.extra,
      cors,
      addressOf,
      fail,
      refuseUnread: createRefuseUnread(gate, fail),
      headerBytes: limits.headerBytes,
      bodyMs: limits.bodyMs,
      draining: () => draining.aborted,
      refusesBody: bodies.refuses,
      done,
    },
    handover,
  );
  const { headerBytes } = limits;
  const unaryGrpc = createUnaryGrpc({ rpcs, gate, fail, done, shutdownSignal: shutdown, addressOf, headerBytes });
  return { handler, unaryGrpc };
}

/** Compiles the rpcs of the contract: their policies, the gate before each, and each behind the pipeline. */
function compileRpcs(
  options: ServerOptions,
  slots: StreamSlots,
  draining: AbortSignal,
): { policies: ReadonlyMap<DescMethod, Policy>; gate: Gate; rpcs: readonly CompiledRpc[] } {
  const { services, sharing, signInAttempts } = options;
  const policies = compilePolicies(services.map(({ service }) => service));
  const rates = createRates(
    options.limiter,
    options.rateLimits,
    signInAttempts === undefined ? undefined : createSignInAttempts(signInAttempts),
  );
  const cookies = options.sessionCookie && createSessionCookies(options.sessionCookie);
  const gate = createGate(policies.values(), {
    authenticators: options.authenticators,
    rates,
    preconditions: preconditionsOf(services, sharing),
    cookies,
  });
  const pipeline = createPipeline({
    gate,
    rates,
    store: options.idempotency,
    slots,
    cookies,
    share: sharing,
    draining,
  });
  const rpcs = services.flatMap((entry) => compileService(entry, policies, pipeline, options.wrapHandler));
  return { policies, gate, rpcs };
}
