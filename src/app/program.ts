import { isIPv6 } from "node:net";
import { INSTALL_CHANGED, INSTALLS_LEFT, appSchema, installSchema } from "../domains/marketplace/index.ts";
import type { InstallChanged, LeftInstalls } from "../domains/marketplace/index.ts";
import { Organization } from "../domains/organizations/index.ts";
import { Person } from "../domains/people/index.ts";
import { KEY_OVERLAP } from "../domains/signing-keys/index.ts";
import type { KeyOverlap } from "../domains/signing-keys/index.ts";
import { FIRST_ATTEMPTS, WEBHOOK_RETRY } from "../domains/event-catalogue/index.ts";
import { webhookEntities } from "../domains/webhooks/index.ts";
import type { WebhookRetry } from "../domains/event-catalogue/index.ts";
import { composeDomains } from "./domains.ts";
import type { Domains } from "./domains.ts";
import { composeObservation } from "./observation.ts";
import { composeServer } from "./server.ts";
import { tidyTasks } from "./tidy.ts";
import { migrations } from "../migrations/index.ts";
import type { App, Infrastructure } from "./app.ts";
import type { Config } from "../platform/config.ts";
import { createPasswordHasher } from "../platform/crypto/password.ts";
import { checkInstanceKey } from "../platform/crypto/key-check.ts";
import { createSealer } from "../platform/crypto/sealed.ts";
import { createOutbox, openDatabase, OUTBOX } from "../platform/db/index.ts";
import type { OpenDatabase } from "../platform/db/index.ts";
import { createIdempotencyStore } from "../platform/idempotency.ts";
import { countingOn, createLimiter } from "../platform/limits/index.ts";
import { createMetrics } from "../platform/metrics.ts";
import { createGuardedClient } from "../platform/outgoing/client.ts";
import { createMailer } from "../platform/outgoing/mail.ts";
import { createMailbox, noMail } from "../platform/outgoing/mailbox.ts";
import { createMailHandler, mailRetry, MAIL_SEND } from "../platform/outgoing/mail-outbox.ts";
import { retryWhileUnavailable } from "../platform/retry.ts";
import type { Poller } from "../platform/poller.ts";
import { createTemporalClient } from "../platform/temporal/client.ts";
import type { StartWorkflow, TemporalClient } from "../platform/temporal/client.ts";
import { createWorkflowStarter, TASK_QUEUE } from "../platform/temporal/workflows.ts";
import { createRequestContexts } from "../platform/context.ts";
import { tlsOptions } from "../platform/temporal/connection.ts";
import type { TopicHandler } from "../platform/topics.ts";
import type { Server } from "../server/index.ts";
import { createDispatcher } from "../worker/dispatcher.ts";
import { createTidyPoller } from "../worker/tidy.ts";
import { createWorkflowRecovery } from "../worker/workflow-recovery.ts";
import { createTemporalWorker } from "../worker/worker.ts";

/** How long a start waits for a database that is away (decisions 16.1), milliseconds. */
const START_MS = 30_000;

const EMPTY =
  "The database has no organization: set SERVICE_BOOTSTRAP_ORG, SERVICE_BOOTSTRAP_EMAIL and " +
  "SERVICE_BOOTSTRAP_PASSWORD, and start once to create the first one";

/** Entities of every domain. */
export const entities = [Organization, Person, appSchema, installSchema, ...webhookEntities];

/** Waits between tries to reach Temporal, milliseconds. */
const workflowRetry: readonly number[] = [200, 500, 1_000, 2_000, 5_000];

const workflow = (workflowType: string, workflowId: string, id: string): StartWorkflow => ({
  workflowType,
  workflowId,
  taskQueue: TASK_QUEUE,
  args: [id],
});
const installWorkflow = (id: string): StartWorkflow => workflow("driveInstall", `install/${id}`, id);
const keyWorkflow = (id: string): StartWorkflow => workflow("rotateKey", `key-rotation/${id}`, id);
const retryWorkflow = (id: string): StartWorkflow => workflow("retryDeliveries", `webhook-retries/${id}`, id);

/** Topics of the outbox and who takes them. */
function topics(
  domains: Domains,
  temporal: TemporalClient,
  sendMail: (payload: Record<string, unknown>) => Promise<void>,
): Record<string, TopicHandler> {
  return {
    [MAIL_SEND]: { handle: sendMail, retry: mailRetry, concurrency: 4 },
    [INSTALL_CHANGED]: {
      handle: async (payload) => {
        await temporal.signalWithStart(
          installWorkflow((payload as unknown as InstallChanged).install_id),
          "install-changed",
        );
      },
      retry: workflowRetry,
      concurrency: 16,
    },
    [INSTALLS_LEFT]: {
      handle: (payload) => domains.marketplace.deprovisionLeft(payload as unknown as LeftInstalls),
      retry: workflowRetry,
      concurrency: 2,
    },
    [KEY_OVERLAP]: {
      handle: async (payload) => {
        await temporal.signalWithStart(keyWorkflow((payload as unknown as KeyOverlap).key_id), "key-changed");
      },
      retry: workflowRetry,
      concurrency: 4,
    },
    [WEBHOOK_RETRY]: {
      handle: async (payload) => {
        await temporal.signalWithStart(
          retryWorkflow((payload as unknown as WebhookRetry).webhook_id),
          "deliveries-changed",
        );
      },
      retry: workflowRetry,
      concurrency: 8,
      // One run of the endpoint's workflow finds everything due by then.
      coalescingKey: (payload) => (payload as unknown as WebhookRetry).webhook_id,
    },
  };
}

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
  const hasher = createPasswordHasher({ random });
  const outgoing = createGuardedClient(config.outgoing);
  const limiter = createLimiter({
    database: countingOn({ guard: database.guard, prepared: database.identifying }),
    clock,
  });
  const temporal = createTemporalClient(infrastructure.temporal);
  const domains = composeDomains({
    config,
    database,
    clock,
    random,
    log,
    sealer,
    hasher,
    outgoing,
    limiter,
    workflows: createWorkflowStarter(temporal),
    contexts: createRequestContexts(database),
  });
  const outbox = createOutbox({ database: database.background, clock });
  const idempotency = createIdempotencyStore({ database, clock, random, sealer, log });
  const metrics = createMetrics({ defaults: true });
  const { off, smtpUrl, from } = config.mail;
  const mailer = off || smtpUrl === undefined ? undefined : createMailer({ smtpUrl, from });
  // Mails of the mailbox carry live tokens: production never has one.
  const mailbox = off || smtpUrl !== undefined || !config.development ? undefined : createMailbox(database, clock);
  const sink = mailer ?? mailbox ?? noMail;

  const serves = role !== "worker";
  const works = role !== "serve";
  const pollerDeps = { clock, random, log };
  const dispatcher = createDispatcher({
    ...pollerDeps,
    outbox,
    topics: topics(domains, temporal, createMailHandler(sealer, sink)),
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
    activities: { ...domains.marketplace.activities, ...domains.webhooks.activities, ...domains.keys.activities },
    clock,
    log,
    graceMs: 5_000,
  });
  const server: Server | undefined = serves
    ? composeServer({
        config,
        clock,
        log,
        database,
        domains,
        temporal,
        metrics,
        mailbox,
        idempotency,
        limiter,
        masterKey: infrastructure.masterKey,
        worker: works ? worker : undefined,
      })
    : undefined;
  const started =
    (describe: (id: string) => StartWorkflow) =>
    async (id: string): Promise<boolean> =>
      (await temporal.startWorkflow(describe(id))) === "started";
  const recovery = createWorkflowRecovery({
    ...pollerDeps,
    kinds: {
      installs: { list: domains.marketplace.waiting, start: started(installWorkflow) },
      webhookRetries: { list: domains.webhooks.waiting, start: started(retryWorkflow) },
      keyOverlaps: { list: domains.keys.waiting, start: started(keyWorkflow) },
    },
  });
  const pollers: readonly Poller[] = [
    ...dispatcher.pollers,
    ...domains.webhooks.pollers,
    ...domains.authEvents.pollers,
    createTidyPoller({ ...pollerDeps, tasks: tidyTasks(domains, { idempotency, limiter }) }),
    recovery,
  ];
  const work = works ? { dispatcher, worker, pollers, firstAttempts: domains.webhooks.firstAttempts } : undefined;
  const observation = composeObservation({ config, metrics, database, outbox, temporal, work });
  let unlisten = (): void => undefined;
  const stopWorking = (graceMs: number) =>
    Promise.all([...pollers.map((poller) => poller.drain(graceMs)), worker.stop()]);

  /** What has to be in the database before anybody calls; can be done again. */
  async function first(): Promise<boolean> {
    await checkInstanceKey({ database, clock, sealer, opensStored: domains.keys.signing.opensInstanceKey });
    await domains.keys.signing.ensureInstanceKey();
    if (bootstrap !== undefined)
      return domains.login.bootstrap({ orgName: bootstrap.org, email: bootstrap.email, password: bootstrap.password });
    if (await domains.login.isEmpty()) log.warn(EMPTY);
    return false;
  }

  return {
    async start() {
      await observation.start();
      const bootstrapped = await retryWhileUnavailable(first, START_MS);
      if (works) {
        const stops = [
          database.onWake(OUTBOX, () => dispatcher.nudge()),
          database.onWake(FIRST_ATTEMPTS, () => domains.webhooks.firstAttempts.nudge()),
        ];
        unlisten = () => stops.forEach((stop) => stop());
        for (const poller of pollers) poller.start();
        worker.start();
      }
      await server?.listen();
      return { address: server === undefined ? undefined : urlOf(server, config), bootstrapped };
    },
    async stop(graceMs) {
      const until = performance.now() + graceMs;
      await server?.close(graceMs);
      unlisten();
      if (works) await stopWorking(Math.max(1_000, until - performance.now()));
      await Promise.all([hasher.close(), outgoing.close(1_000), temporal.close(), domains.sessions.close()]);
      mailer?.close();
      await observation.closeMetrics();
      await database.close();
      await observation.stopTracing();
    },
  };
}

function urlOf(server: Server, config: Config): string {
  const { address, port } = server.address();
  return `${config.tls === undefined ? "http" : "https"}://${isIPv6(address) ? `[${address}]` : address}:${port}`;
}
