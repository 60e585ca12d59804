import type { Domains } from "./domains.ts";
import { composeServices } from "./services.ts";
import type { Clock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import type { OpenDatabase } from "../platform/db/index.ts";
import type { AcceptInviteResponse } from "../../gen/atrium/login/v1/login_pb.ts";
import { FLATBUFFERS, encodeInviteRegistration } from "../domains/signin/index.ts";
import type { IdempotencyStore } from "../platform/idempotency.ts";
import type { Limiter } from "../platform/limits/index.ts";
import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import { clientAddress, parseTrustedProxies } from "../platform/outgoing/address.ts";
import type { KeptMail } from "../platform/outgoing/mailbox.ts";
import type { TemporalClient } from "../platform/temporal/client.ts";
import { createServer } from "../server/index.ts";
import type { PlainHandler, Server } from "../server/index.ts";
import { landingPages } from "../server/landing.ts";
import { mailboxPages } from "../server/mailbox.ts";
import { isReady, readyzPage } from "../server/operator.ts";
import type { ReadinessReport } from "../server/operator.ts";

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
}

/** Asks database and Temporal how they are, at most once a second however many ask. */
function createReadiness({ database, temporal, clock }: Pick<ServerParts, "database" | "temporal" | "clock">): () => Promise<ReadinessReport> {
  let last: { at: number; report: Promise<ReadinessReport> } | undefined;
  async function ask(): Promise<ReadinessReport> {
    const [{ database: db, migrations }, workflows] = await Promise.all([database.ready(), temporal.health()]);
    return { status: db === "ok" && migrations === "ok" ? "ok" : "unavailable", database: db, migrations, temporal: workflows, vault: "ok" };
  }
  return () => {
    if (last === undefined || clock.now() - last.at >= 1_000) last = { at: clock.now(), report: ask() };
    return last.report;
  };
}

/** The server over the composed domains. */
export function composeServer(parts: ServerParts): Server {
  const { config, domains, log, metrics, mailbox } = parts;
  const readiness = createReadiness(parts);
  const pages: PlainHandler[] = [readyzPage(readiness), landingPages, ...(mailbox === undefined || !config.development ? [] : [mailboxPages(mailbox.list)])];
  const proxies = parseTrustedProxies(config.trustedProxies);
  return createServer({
    host: config.host,
    port: config.port,
    tls: config.tls,
    services: composeServices(domains, { readiness, metrics: config.metricsPort === undefined ? metrics : undefined }),
    authenticators: {
      bearer: (token, info) => (domains.credentials.authenticate.isApiKey(token) ? domains.credentials.authenticate.apiKey(token) : domains.sessions.authenticate(token, info)),
      scim: (token) => domains.credentials.authenticate.scimToken(token),
      appAdmin: domains.marketplace.apps.isAppAdmin,
      anyAppAdmin: async (caller) => (await domains.marketplace.apps.administeredIds(caller)).length > 0,
    },
    idempotency: parts.idempotency,
    limiter: parts.limiter,
    rateLimits: config.rateLimits,
    corsOrigins: config.cors.anyLoopback ? "loopback" : config.cors.origins,
    reflection: config.reflection,
    ready: async () => isReady(await readiness()),
    addressOf: (request) => clientAddress(request.socket.remoteAddress ?? "", forwarded(request.headers["x-forwarded-for"]), proxies),
    metrics,
    log,
    encoders: {
      [FLATBUFFERS]: (message) => {
        const { data } = message as AcceptInviteResponse;
        if (data === undefined) throw new Error("an accepted invitation has no answer");
        return encodeInviteRegistration(data);
      },
    },
    extra: (request, response) => pages.some((page) => page(request, response)),
  });
}

function forwarded(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(",") : header;
}
