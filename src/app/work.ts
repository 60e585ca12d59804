import type { Clock } from "../platform/clock.ts";
import { OUTBOX } from "../platform/db/index.ts";
import type { OpenDatabase, Outbox } from "../platform/db/index.ts";
import type { Contributions } from "../platform/domain.ts";
import type { Log } from "../platform/log.ts";
import type { MailTopics } from "../platform/outgoing/mail-outbox.ts";
import type { Poller } from "../platform/poller.ts";
import type { Random } from "../platform/random.ts";
import type { TemporalClient } from "../platform/temporal/client.ts";
import { tlsOptions } from "../platform/temporal/connection.ts";
import type { TemporalTarget } from "../platform/temporal/connection.ts";
import { TASK_QUEUE } from "../platform/temporal/workflows.ts";
import type { TidyTasks } from "../platform/tidy-task.ts";
import { createDispatcher } from "../worker/dispatcher.ts";
import type { Dispatcher } from "../worker/dispatcher.ts";
import { createSchedulePoller } from "../worker/schedules.ts";
import { createTidyPoller } from "../worker/tidy.ts";
import { createTemporalWorker } from "../worker/worker.ts";
import type { TemporalWorker } from "../worker/worker.ts";
import { createWorkflowRecovery } from "../worker/workflow-recovery.ts";

/** Sources of {@link composeWork}. */
export interface WorkParts {
  clock: Clock;
  random: Random;
  log: Log;
  database: OpenDatabase;
  outbox: Outbox;
  /** The server of workflows, for the worker's own connection. */
  target: TemporalTarget;
  temporal: TemporalClient;
  contributions: readonly Contributions[];
  mails: MailTopics;
  /** Tidy tasks besides those of the domains. */
  tidy: TidyTasks;
}

/** Background work of a process. */
export interface Work {
  dispatcher: Dispatcher;
  worker: TemporalWorker;
  pollers: readonly Poller[];
  start(): void;
  /** Commits no longer wake a poller. */
  stopListening(): void;
  /** Lets what is running finish for at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/** How long running activities may take to finish, milliseconds. */
const ACTIVITY_GRACE_MS = 5_000;

/** Merges what domains contribute by name. */
const merged = <T>(parts: readonly (Readonly<Record<string, T>> | undefined)[]): Record<string, T> =>
  Object.assign({}, ...parts) as Record<string, T>;

/** Composes the dispatcher, the Temporal worker and all pollers. Nothing runs before `start`. */
export function composeWork(parts: WorkParts): Work {
  const { clock, random, log, database, temporal, contributions } = parts;
  const pollerDeps = { clock, random, log };
  const dispatcher = createDispatcher({
    ...pollerDeps,
    outbox: parts.outbox,
    topics: { ...merged(contributions.map(({ topics }) => topics)), ...parts.mails.topics },
  });
  const worker = composeWorker(parts);
  const pollers: readonly Poller[] = [
    ...dispatcher.pollers,
    ...contributions.flatMap((contribution) => contribution.pollers ?? []),
    createTidyPoller({ ...pollerDeps, tasks: { ...merged(contributions.map(({ tidy }) => tidy)), ...parts.tidy } }),
    createWorkflowRecovery({ ...pollerDeps, kinds: merged(contributions.map(({ recoveries }) => recoveries)) }),
    createSchedulePoller({
      ...pollerDeps,
      temporal,
      schedules: contributions.flatMap(({ schedules = [] }) => schedules),
    }),
  ];
  let unlisten: readonly (() => void)[] = [];
  return {
    dispatcher,
    worker,
    pollers,
    start() {
      unlisten = [
        database.onWake(OUTBOX, () => dispatcher.nudge()),
        ...pollers.map((poller) => database.onWake(poller.name, () => poller.nudge())),
      ];
      for (const poller of pollers) poller.start();
      worker.start();
    },
    stopListening() {
      for (const stop of unlisten) stop();
    },
    async stop(graceMs) {
      await Promise.all([...pollers.map((poller) => poller.drain(graceMs)), worker.stop()]);
    },
  };
}

function composeWorker({ clock, log, target, temporal, contributions }: WorkParts): TemporalWorker {
  const { address, namespace, apiKey } = target;
  return createTemporalWorker({
    connection: {
      address,
      tls: tlsOptions(target),
      ...(apiKey !== undefined && { apiKey }),
      // The SDK sends it with all calls but its first one, which proxies have to route too.
      metadata: { "temporal-namespace": namespace },
    },
    namespace,
    taskQueue: TASK_QUEUE,
    activities: merged(contributions.map(({ activities }) => activities)),
    clock,
    log,
    graceMs: ACTIVITY_GRACE_MS,
    isReachable: async () => (await temporal.health()).state === "ok",
  });
}
