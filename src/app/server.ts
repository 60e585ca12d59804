import { join } from "node:path";
import type { Domains } from "../domains/order.ts";
import { version } from "./version.ts";
import { composeServices } from "./services.ts";
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
import type { Mailbox } from "../platform/outgoing/mailbox.ts";
import { createServer, MAX_STREAMS } from "../server/index.ts";
import type { Authenticators, MutualTls, PlainHandler, Server } from "../server/index.ts";
import { documentPages } from "../server/documents/index.ts";
import { mailboxPages } from "../server/mailbox.ts";
import type { CorsOrigins } from "../server/cors.ts";
import { consolePages } from "../server/static/console.ts";
import type { ConsoleSettings } from "../server/static/console.ts";
import { indexJson } from "../server/static/index-json.ts";
import { isReady } from "../domains/operator/index.ts";
import type { ReadinessReport } from "../domains/operator/index.ts";

/** What the server is made of. */
export interface ServerParts {
  config: Config;
  log: Log;
  database: OpenDatabase;
  domains: Domains;
  metrics: Metrics;
  /** How the process is, but for the drain of the server. */
  readiness: () => Promise<ReadinessReport>;
  /** The development mailbox; undefined where mail goes out over SMTP. */
  mailbox: Pick<Mailbox, "list"> | undefined;
  idempotency: IdempotencyStore;
  limiter: Limiter;
  /** The certificate of the listener of mutual TLS, PEM. */
  listenerCertificate: MutualTls["identity"];
  /** Folder of the built console; undefined where it is not served. */
  consoleFolder: string | undefined;
  /** Whether a build that is missing is being made; undefined: yes. */
  isConsoleBuilding: (() => boolean) | undefined;
}

/** Settings of the console's pages; in development they name the first login and where its password is kept. */
function consoleSettings(
  { baseUrl, bootstrap, console, dataDir, development, openSignup }: Config,
  mailbox: boolean,
  origins: CorsOrigins,
): ConsoleSettings {
  const kept = `printed by the first start, and kept in ${join(dataDir, "secrets", "bootstrap-password")}`;
  return {
    version: version(),
    baseUrl,
    idleMs: console.idleMs,
    openSignup,
    origins,
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

/** The bearer tokens that requests present: secrets have a form of their own, anything else must be an access token. */
function bearers({ credentials, serviceIdentities, sessions }: Domains): Pick<Authenticators, "bearer" | "recheck"> {
  const secrets = [credentials.authenticate.apiKeys, serviceIdentities.automationTokens];
  const secretOf = (token: string) => secrets.find((one) => one.accepts(token));
  return {
    bearer: (token, info) => secretOf(token)?.authenticate(token) ?? sessions.authenticate(token, info),
    recheck: (token) => secretOf(token)?.recheck(token) ?? sessions.recheck(token),
  };
}

/** The server over the composed domains. */
export function composeServer(parts: ServerParts): Server {
  const { config, domains, log, metrics, mailbox } = parts;
  const readiness = async (): Promise<ReadinessReport> => ({
    ...(await parts.readiness()),
    ...(server.draining() && { status: "draining" }),
  });
  const corsOrigins = config.cors.anyLoopback ? ("loopback" as const) : config.cors.origins;
  const settings = consoleSettings(config, mailbox !== undefined, corsOrigins);
  const { consoleFolder, isConsoleBuilding: isBuilding = () => true } = parts;
  const pages: PlainHandler[] = [
    ...(consoleFolder === undefined
      ? []
      : [consolePages({ folder: consoleFolder, isBuilding, baseUrl: config.baseUrl, settings })]),
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
      recheckSvid: (svid) => domains.serviceIdentities.recheckSvid(svid),
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
