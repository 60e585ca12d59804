import { isIPv6 } from "node:net";
import type { AddressInfo } from "node:net";
import { DOMAINS } from "../domains/order.ts";
import { createHealthLog } from "./health-log.ts";
import { composeObservation } from "./observation.ts";
import { createReadiness } from "./readiness.ts";
import { composeServer } from "./server.ts";
import { migrations } from "../migrations/index.ts";
import type { App, Infrastructure, Started } from "./app.ts";
import type { Config } from "../platform/config.ts";
import { createPasswordHasher } from "../platform/crypto/password.ts";
import { checkInstanceKey } from "../platform/crypto/key-check.ts";
import { createCursors } from "../platform/cursors.ts";
import { createSealer } from "../platform/crypto/sealed.ts";
import { connectionFailure, createOutbox, openDatabase, OUTBOX } from "../platform/db/index.ts";
import { isAway } from "../platform/db/failure.ts";
import type { OpenDatabase } from "../platform/db/index.ts";
import { createIdempotencyStore } from "../platform/idempotency.ts";
import { limiterDatabase, createLimiter } from "../platform/limits/index.ts";
import { createMetrics } from "../platform/metrics.ts";
import { createGuardedClient } from "../platform/outgoing/client.ts";
import { createMailbox, noMail } from "../platform/outgoing/mailbox.ts";
import { createMailTopics } from "../platform/outgoing/mail-outbox.ts";
import { retryWhileUnavailable } from "../platform/retry.ts";
import { StartError } from "../platform/start-error.ts";
import type { Poller } from "../platform/poller.ts";
import { createTemporalClient } from "../platform/temporal/client.ts";
import { createWorkflowStarter, TASK_QUEUE } from "../platform/temporal/workflows.ts";
import type { Contributions } from "../platform/domain.ts";
import { createRequestContexts } from "../platform/context.ts";
import { tlsOptions } from "../platform/temporal/connection.ts";
import { createListenerCertificate } from "../platform/x509/listener-certificate.ts";
import type { Server } from "../server/index.ts";
import { createDispatcher } from "../worker/dispatcher.ts";
import { createSchedulePoller } from "../worker/schedules.ts";
import { createTidyPoller } from "../worker/tidy.ts";
import { createWorkflowRecovery } from "../worker/workflow-recovery.ts";
import { createTemporalWorker } from "../worker/worker.ts";

/** How long a start waits for a database that is away (decisions 16.1), milliseconds. */
const START_MS = 30_000;

/** What background work leaves of the time of a stop, for closing what it uses, milliseconds. */
const LAST_MS = 500;

const EMPTY =
  "The database has no organization: set SERVICE_BOOTSTRAP_ORG, SERVICE_BOOTSTRAP_EMAIL and " +
  "SERVICE_BOOTSTRAP_PASSWORD, and start once to create the first one";

/** Entities of every domain. */
export const entities = DOMAINS.definitions.flatMap((definition) => definition.entities);

/** Merges what domains contribute by name. */
const merged = <T>(parts: readonly (Readonly<Record<string, T>> | undefined)[]): Record<string, T> =>
  Object.assign({}, ...parts) as Record<string, T>;

/** Wires the whole program by hand: ground floor, domains, server, worker. Nothing runs before `start`. */
export async function compose(config: Config, infrastructure: Infrastructure): Promise<App> {
  const { role, log, clock, random, bootstrap } = infrastructure;
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
  const { off, smtpUrl, from } = config.mail;
  // Loaded only where it is used.
  const mailer =
    off || smtpUrl === undefined
      ? undefined
      : (await import("../platform/outgoing/mail.ts")).createMailer({ smtpUrl, from });
  // Mails of the mailbox carry live tokens: production never has one.
  const mailbox = off || smtpUrl !== undefined || !config.development ? undefined : createMailbox(database, clock);
  const mails = createMailTopics({ sealer, sink: mailer ?? mailbox ?? noMail, log });

  const listenerCertificate = createListenerCertificate(config, { database, clock, random, sealer });

  const serves = role !== "worker";
  const works = role !== "serve";
  const pollerDeps = { clock, random, log };
  const dispatcher = createDispatcher({
    ...pollerDeps,
    outbox,
    topics: {
      ...merged(contributions.map(({ topics }) => topics)),
      ...mails.topics,
    },
  });
  const { address, tls: _tls, ...target } = infrastructure.temporal;
  const worker = createTemporalWorker({
    connection: {
      address,
      tls: tlsOptions(infrastructure.temporal),
      ...(target.apiKey === undefined ? {} : { apiKey: target.apiKey }),
    },
    namespace: target.namespace,
    taskQueue: TASK_QUEUE,
    activities: merged(contributions.map(({ activities }) => activities)),
    clock,
    log,
    graceMs: 5_000,
  });
  const readiness = createReadiness({ database, temporal, clock, domains, worker: works ? worker : undefined });
  const server: Server | undefined = serves
    ? composeServer({
        config,
        log,
        database,
        domains,
        readiness,
        metrics,
        mailbox,
        idempotency,
        limiter,
        listenerCertificate,
        consoleFolder: config.console.on ? infrastructure.consoleFolder : undefined,
        isConsoleBuilding: infrastructure.isConsoleBuilding,
      })
    : undefined;
  const recovery = createWorkflowRecovery({
    ...pollerDeps,
    kinds: merged(contributions.map(({ recoveries }) => recoveries)),
  });
  const tasks = {
    ...merged(contributions.map(({ tidy }) => tidy)),
    idempotency: idempotency.purge,
    limits: limiter.purge,
  };
  const pollers: readonly Poller[] = [
    ...dispatcher.pollers,
    ...contributions.flatMap((contribution) => contribution.pollers ?? []),
    createTidyPoller({ ...pollerDeps, tasks }),
    recovery,
    createSchedulePoller({
      ...pollerDeps,
      temporal,
      schedules: contributions.flatMap(({ schedules = [] }) => schedules),
    }),
  ];
  const work = works
    ? { dispatcher, worker, pollers, firstAttempts: domains.webhooks.firstAttempts, refusedMails: mails.refused }
    : undefined;
  let isStopping = false;
  const observation = composeObservation({
    config,
    metrics,
    database,
    outbox,
    temporal,
    work,
    readiness: async () => ({ ...(await readiness()), ...(isStopping && { status: "draining" }) }),
  });
  const healthLog = createHealthLog({ database, temporal, clock, log });
  let unlisten = (): void => undefined;
  const stopWorking = (graceMs: number): Promise<unknown> =>
    Promise.all([...pollers.map((poller) => poller.drain(graceMs)), worker.stop()]);

  /** Whether the database has accepted a connection. */
  let connected = false;

  /** What has to be in the database before anybody calls; can be done again. */
  async function first(): Promise<boolean> {
    await database.prepared("start_connect", "select 1 as one", []);
    connected = true;
    await checkInstanceKey({ database, clock, sealer, opensStored: domains.signingKeys.signing.opensInstanceKey });
    await domains.signingKeys.signing.ensureInstanceKey();
    await domains.vault.seal.checkMasterKey();
    if (bootstrap !== undefined)
      return domains.login.bootstrap({ orgName: bootstrap.org, email: bootstrap.email, password: bootstrap.password });
    if (await domains.login.isEmpty()) log.warn(EMPTY);
    return false;
  }

  /** {@link first}, and an error of one line for a database that refuses connections or stays away. */
  async function prepare(): Promise<boolean> {
    try {
      return await retryWhileUnavailable(first, START_MS);
    } catch (error) {
      if (error instanceof StartError) throw error;
      const { databaseUrl } = infrastructure;
      if (isAway(error)) throw connectionFailure(databaseUrl, (error as Error).cause ?? error, START_MS);
      throw connected ? error : connectionFailure(databaseUrl, error, 0);
    }
  }

  /** Where mutual TLS is served, and by which certificate. */
  async function mutualTls(): Promise<Pick<Started, "mutualTls">> {
    const at = server?.mutualTlsAddress();
    if (at === undefined) return { mutualTls: undefined };
    const { cert } = await listenerCertificate();
    return { mutualTls: { address: `https://${hostOf(at)}`, certificate: cert } };
  }

  return {
    async start() {
      await observation.start();
      const bootstrapped = await prepare();
      if (works) {
        const stops = [
          database.onWake(OUTBOX, () => dispatcher.nudge()),
          ...pollers.map((poller) => database.onWake(poller.name, () => poller.nudge())),
        ];
        unlisten = () => stops.forEach((stop) => stop());
        for (const poller of pollers) poller.start();
        worker.start();
      }
      await server?.listen();
      healthLog.start();
      return {
        address: server === undefined ? undefined : urlOf(server, config),
        ...(await mutualTls()),
        bootstrapped,
      };
    },
    calls: metrics.calls,
    async stop(graceMs) {
      isStopping = true;
      healthLog.stop();
      unlisten();
      // Background work ends beside the requests, in the same time. What the last requests emit stays in the outbox.
      await Promise.all([server?.close(graceMs), works ? stopWorking(Math.max(1_000, graceMs - LAST_MS)) : undefined]);
      await Promise.all([hasher.close(), outgoing.close(1_000), temporal.close(), domains.sessions.close()]);
      mailer?.close();
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
