import { isIPv6 } from "node:net";
import type { AddressInfo } from "node:net";
import { DOMAINS } from "../domains/order.ts";
import { entities } from "./entities.ts";
import { createHealthLog } from "./health-log.ts";
import { composeMails } from "./mails.ts";
import { composeObservation } from "./observation.ts";
import { createPreparation } from "./preparation.ts";
import { createReadiness } from "./readiness.ts";
import { composeServer } from "./server.ts";
import { composeWork } from "./work.ts";
import { migrations } from "../migrations/index.ts";
import type { App, Infrastructure, Started } from "./app.ts";
import type { Config } from "../platform/config.ts";
import { createPasswordHasher } from "../platform/crypto/password.ts";
import { createCursors } from "../platform/cursors.ts";
import { createSealer } from "../platform/crypto/sealed.ts";
import { createOutbox, openDatabase } from "../platform/db/index.ts";
import type { OpenDatabase } from "../platform/db/index.ts";
import { createIdempotencyStore } from "../platform/idempotency.ts";
import { limiterDatabase, createLimiter } from "../platform/limits/index.ts";
import { createMetrics } from "../platform/metrics.ts";
import { createGuardedClient } from "../platform/outgoing/client.ts";
import { createTemporalClient } from "../platform/temporal/client.ts";
import { createWorkflowStarter } from "../platform/temporal/workflows.ts";
import type { Contributions } from "../platform/domain.ts";
import { createRequestContexts } from "../platform/context.ts";
import { createListenerCertificate } from "../platform/x509/listener-certificate.ts";
import type { Server } from "../server/index.ts";

/** What background work leaves of the time of a stop, for closing what it uses, milliseconds. */
const LAST_MS = 500;

/** Wires the whole program by hand: ground floor, domains, server, worker. Nothing runs before `start`. */
export async function compose(config: Config, infrastructure: Infrastructure): Promise<App> {
  const { role, log, clock, random } = infrastructure;
  const database: OpenDatabase = await openDatabase({
    url: infrastructure.databaseUrl,
    entities,
    migrations,
    clock,
    log,
    guarded: config.development,
  });
  const sealer = createSealer(infrastructure.instanceKey, random, config.previousInstanceKey);
  const hasher = createPasswordHasher({ random, cost: infrastructure.passwordCost });
  const outgoing = createGuardedClient(config.outgoing);
  const limiter = createLimiter({
    database: limiterDatabase({ guard: database.guard, prepared: database.identifying }),
    clock,
  });
  const temporal = createTemporalClient(infrastructure.temporal);
  const domains = DOMAINS.build({
    config,
    database,
    clock,
    random,
    log,
    sealer,
    cursors: createCursors({ clock, sealer, cursorMs: config.ttl.cursorMs }),
    masterKey: infrastructure.masterKey,
    hasher,
    outgoing,
    limiter,
    workflows: createWorkflowStarter(temporal),
    contexts: createRequestContexts(database),
  });
  const contributions: readonly Contributions[] = Object.values(domains);
  const outbox = createOutbox({ database: database.background, clock });
  const idempotency = createIdempotencyStore({ database, clock, random, sealer, log });
  const metrics = createMetrics({ defaults: true });
  const mails = await composeMails({ config, database, clock, sealer, log });
  const listenerCertificate = createListenerCertificate(config, { database, clock, random, sealer });
  const work =
    role === "serve"
      ? undefined
      : composeWork({
          clock,
          random,
          log,
          database,
          outbox,
          target: infrastructure.temporal,
          temporal,
          contributions,
          mails,
          tidy: { idempotency: idempotency.purge, limits: limiter.purge },
        });
  const readiness = createReadiness({ database, temporal, clock, domains, worker: work?.worker });
  const server: Server | undefined =
    role === "worker"
      ? undefined
      : composeServer({
          config,
          log,
          database,
          domains,
          readiness,
          metrics,
          mailbox: mails.mailbox,
          idempotency,
          limiter,
          listenerCertificate,
          consoleFolder: config.console.on ? infrastructure.consoleFolder : undefined,
          isConsoleBuilding: infrastructure.isConsoleBuilding,
        });
  let isStopping = false;
  const observation = composeObservation({
    config,
    metrics,
    database,
    clock,
    outbox,
    temporal,
    work: work && { ...work, firstAttempts: domains.webhooks.firstAttempts, refusedMails: mails.refused },
    readiness: async () => ({ ...(await readiness()), ...(isStopping && { status: "draining" }) }),
  });
  const healthLog = createHealthLog({ database, temporal, clock, log });
  const prepare = createPreparation({ infrastructure, database, sealer, domains });

  /** Where mutual TLS is served, and by which certificate. */
  async function mutualTls(): Promise<Started["mutualTls"]> {
    const at = server?.mutualTlsAddress();
    if (at === undefined) return undefined;
    const { cert } = await listenerCertificate();
    return { address: `https://${hostOf(at)}`, certificate: cert };
  }

  return {
    async start() {
      await observation.start();
      const bootstrapped = await prepare();
      work?.start();
      await server?.listen();
      healthLog.start();
      return {
        address: server === undefined ? undefined : urlOf(server, config),
        mutualTls: await mutualTls(),
        bootstrapped,
      };
    },
    calls: metrics.calls,
    async stop(graceMs) {
      isStopping = true;
      healthLog.stop();
      work?.stopListening();
      // Background work ends beside the requests, in the same time. What the last requests emit stays in the outbox.
      await Promise.all([server?.close(graceMs), work?.stop(Math.max(1_000, graceMs - LAST_MS))]);
      const { sessions, templates } = domains;
      await Promise.all([outgoing.close(1_000), ...[hasher, temporal, sessions, templates].map((one) => one.close())]);
      mails.close();
      await observation.closeMetrics();
      await database.close();
      await observation.stopTracing();
    },
  };
}

function urlOf(server: Server, config: Config): string {
  return `${config.tls === undefined ? "http" : "https"}://${hostOf(server.address())}`;
}

function hostOf({ address, port }: AddressInfo): string {
  return `${isIPv6(address) ? `[${address}]` : address}:${port}`;
}
