import { join } from "node:path";
import type { Domains } from "../domains/order.ts";
import { version } from "./version.ts";
import { composeServices } from "./services.ts";
import type { Clock } from "../platform/clock.ts";
import type { Contributions } from "../platform/domain.ts";
import type { Config } from "../platform/config.ts";
import type { OpenDatabase } from "../platform/db/index.ts";
import type { AcceptInviteResponse } from "../../gen/atrium/login/v1/login_pb.ts";
import { FLATBUFFERS, encodeInviteRegistration } from "../domains/login/index.ts";
import type { IdempotencyStore } from "../platform/idempotency.ts";
import { createStreamPlaces, limiterDatabase } from "../platform/limits/index.ts";
import type { Limiter } from "../platform/limits/index.ts";
import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import { clientAddress, isTrustedProxy, parseTrustedProxies } from "../platform/outgoing/address.ts";
import type { KeptMail } from "../platform/outgoing/mailbox.ts";
import type { TemporalClient } from "../platform/temporal/client.ts";
import type { TemporalWorker } from "../worker/worker.ts";
import { createServer, MAX_STREAMS } from "../server/index.ts";
import type { Authenticators, MutualTls, PlainHandler, Server } from "../server/index.ts";
import { documentPages } from "../server/documents/index.ts";
import { mailboxPages } from "../server/mailbox.ts";
import { consolePages } from "../server/static/console.ts";
import type { ConsoleSettings } from "../server/static/console.ts";
import { indexJson } from "../server/static/index-json.ts";
import { isReady } from "../domains/operator/index.ts";
import type { ReadinessReport } from "../domains/operator/index.ts";

/** What the server is made of. */
export interface ServerParts {
  config: Config;
  clock: Clock;
  log: Log;
  database: OpenDatabase;
  domains: Domains;
  temporal: TemporalClient;
  metrics: Metrics;
  /** The development mailbox; undefined where mail goes out over SMTP. */
  mailbox: { list(): Promise<KeptMail[]> } | undefined;
  idempotency: IdempotencyStore;
  limiter: Limiter;
  /** The certificate of the listener of mutual TLS, PEM. */
  listenerCertificate: MutualTls["identity"];
  /** The worker of this process, where it has one. */
  worker: Pick<TemporalWorker, "health"> | undefined;
  /** Folder of the built console; undefined where it is not served. */
  consoleFolder: string | undefined;
}

/** A worker takes no work while its server is away, although it goes on asking for some. */
function workerHealth(worker: Pick<TemporalWorker, "health">, temporal: string): string {
  const own = worker.health();
  return own === "ok" && temporal !== "ok" ? `Temporal is ${temporal}` : own;
}

/** Asks database and Temporal how they are, at most once a second however many ask. */
function createReadiness({
  database,
  temporal,
  clock,
  domains,
  worker,
}: Pick<ServerParts, "database" | "temporal" | "clock" | "domains" | "worker">): () => Promise<ReadinessReport> {
  let last: { at: number; report: Promise<ReadinessReport> } | undefined;
  async function ask(): Promise<ReadinessReport> {
    const [{ database: db, migrations }, workflows, vault] = await Promise.all([
      database.ready(),
      temporal.health(),
      domains.vault.seal.health(),
    ]);
    return {
      status: db === "ok" && migrations === "ok" ? "ok" : "unavailable",
      database: db,
      migrations,
      temporal: workflows,
      vault,
      ...(worker !== undefined && { worker: workerHealth(worker, workflows) }),
    };
  }
  return () => {
    if (last === undefined || clock.now() - last.at >= 1_000) last = { at: clock.now(), report: ask() };
    return last.report;
  };
}

/** Settings of the console's pages; in development they name the first login and where its password is kept. */
function consoleSettings(
  { baseUrl, bootstrap, console, dataDir, development, openSignup }: Config,
  mailbox: boolean,
): ConsoleSettings {
  const kept = `printed by the first start, and kept in ${join(dataDir, "secrets", "bootstrap-password")}`;
  return {
    version: version(),
    baseUrl,
    idleMs: console.idleMs,
    openSignup,
    mailbox,
    ...(development &&
      bootstrap !== undefined && {
        firstLogin: {
          email: bootstrap.email,
          org: bootstrap.org,
          password:
            bootstrap.password === undefined ? kept : "the one in SERVICE_BOOTSTRAP_PASSWORD at the first start",
        },
      }),
  };
}

/** The bearer tokens that requests present: secrets are told by their form, anything else must be an access token. */
function bearers({ credentials, serviceIdentities, sessions }: Domains): Pick<Authenticators, "bearer" | "holds"> {
  const secrets = [credentials.authenticate.apiKeys, serviceIdentities.automationTokens];
  const secretOf = (token: string) => secrets.find((one) => one.accepts(token));
  return {
    bearer: (token, info) => secretOf(token)?.authenticate(token) ?? sessions.authenticate(token, info),
    holds: (token) => secretOf(token)?.holds(token) ?? sessions.holds(token),
  };
}

/** The server over the composed domains. */
export function composeServer(parts: ServerParts): Server {
  const { config, domains, log, metrics, mailbox } = parts;
  const asked = createReadiness(parts);
  const readiness = async (): Promise<ReadinessReport> => ({
    ...(await asked()),
    ...(server.draining() && { status: "draining" }),
  });
  const corsOrigins = config.cors.anyLoopback ? ("loopback" as const) : config.cors.origins;
  const settings = consoleSettings(config, mailbox !== undefined);
  const { consoleFolder } = parts;
  const pages: PlainHandler[] = [
    ...(consoleFolder === undefined
      ? []
      : [consolePages({ folder: consoleFolder, baseUrl: config.baseUrl, settings })]),
    indexJson({ ...settings, console: consoleFolder !== undefined }),
    documentPages(config.baseUrl),
    ...(mailbox === undefined ? [] : [mailboxPages(mailbox.list)]),
  ];
  const proxies = parseTrustedProxies(config.trustedProxies);
  const server = createServer({
    host: config.host,
    port: config.port,
    tls: config.tls,
    mutualTls:
      config.mtlsPort === undefined
        ? undefined
        : {
            port: config.mtlsPort,
            identity: parts.listenerCertificate,
            verify: domains.spiffe.clientCertificates.verify,
          },
    services: composeServices([
      ...Object.values<Contributions>(domains).flatMap((domain) => domain.services ?? []),
      domains.operator.serviceOf({ readiness, metrics: config.metricsPort === undefined ? metrics : undefined }),
    ]),
    authenticators: {
      ...bearers(domains),
      svid: (svid) => domains.serviceIdentities.authenticateSvid(svid),
      svidHolds: (svid) => domains.serviceIdentities.svidHolds(svid),
      scim: (token) => domains.credentials.authenticate.scimTokens.authenticate(token),
      appAdmin: (caller, appId) => parts.database.withQuota(caller, () => domains.access.apps.roleIn(caller, appId)),
    },
    idempotency: parts.idempotency,
    wrapHandler: parts.database.guard?.call,
    sharing: parts.database.withQuota,
    limiter: parts.limiter,
    streamPlaces: createStreamPlaces({
      database: limiterDatabase(parts.database),
      livenessId: parts.database.livenessId,
      most: MAX_STREAMS,
    }),
    signInAttempts: { ...parts.limiter, signedInFrom: domains.sessions.signedInFrom },
    rateLimits: config.rateLimits,
    corsOrigins,
    sessionCookie: {
      baseUrl: config.baseUrl,
      loopback: config.development,
      maxAgeS: Math.floor(config.ttl.refreshMs / 1000),
    },
    reflection: config.reflection,
    ready: async () => isReady(await readiness()),
    addressOf: (request) =>
      clientAddress(request.socket.remoteAddress ?? "", forwarded(request.headers["x-forwarded-for"]), proxies),
    isTrusted: (address) => isTrustedProxy(address, proxies),
    metrics,
    log,
    encoders: {
      [FLATBUFFERS]: (message) => {
        const { data } = message as AcceptInviteResponse;
        if (data === undefined) throw new Error("an accepted invitation has no answer");
        return encodeInviteRegistration(data);
      },
    },
    extra: (request, response) => {
      for (const page of pages) {
        const taken = page(request, response);
        if (taken !== false) return taken;
      }
      return false;
    },
  });
  return server;
}

function forwarded(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(",") : header;
}
