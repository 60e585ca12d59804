import { NativeConnection, Runtime, TransportError, Worker } from "@temporalio/worker";
import type { ActivityInterceptorsFactory, NativeConnectionOptions } from "@temporalio/worker";
import type { Clock } from "../platform/clock.ts";
import { withoutStack } from "../platform/log.ts";
import type { Log } from "../platform/log.ts";
import { traceparentOf } from "../platform/temporal/trace.ts";
import { handleTraced, tracing } from "../platform/tracing.ts";
import { workflowBundle } from "./bundle.ts";

/** Settings of {@link createTemporalWorker}. */
export interface TemporalWorkerOptions {
  connection: NativeConnectionOptions;
  namespace: string;
  taskQueue: string;
  activities: object;
  clock: Clock;
  log: Log;
  /** Maximum wait for running activities at shutdown, milliseconds. */
  graceMs: number;
  /** Whether the server can be used at present; never rejects. */
  isReachable(): Promise<boolean>;
  /** After how long an absence of the server the worker is replaced at its return; default 20,000 ms. */
  awayMs?: number;
  /** Folder of the workflow bundle; default: the cache folder in node_modules. */
  bundleFolder?: string;
}

/** A Temporal worker that connects when it can, and reconnects after it has lost the server. */
export interface TemporalWorker {
  start(): void;
  stop(): Promise<void>;
  /** `ok` while the worker takes work, otherwise the reason why not. */
  health(): string;
  /** How often the server was lost or unreachable, and when last (milliseconds since the epoch; 0: never). */
  failures(): { count: number; lastAt: number };
}

const RECONNECT_MS = 1_000;

/**
 * A worker whose server was away for longer is replaced at the return, milliseconds. The SDK asks for work with a
 * back-off that grows to 12 s, which a new worker does not wait for. Nothing is lost by it: activities of the time
 * before have ended, and the SDK has given up reporting their results, which it tries for 10 s.
 */
const AWAY_MS = 20_000;
/** Wait between two looks at the server, milliseconds; the second one while it is away. */
const LOOK_MS = 3_000;
const LOOK_AWAY_MS = 1_000;

/** {@link TemporalWorker.health} of a worker for want of its server. */
export const NOT_CONNECTED = "not connected";

let runtimeInstalled = false;

/**
 * Installs the SDK's runtime, of which a process has one: it logs to the log of the first worker. Its native part would
 * print coloured text between the JSON lines, one for each retry of each poll while the server is away.
 */
function installRuntime(log: Log): void {
  if (runtimeInstalled) return;
  runtimeInstalled = true;
  const nothing = (): void => undefined;
  Runtime.install({
    logger: {
      log: nothing,
      trace: nothing,
      debug: nothing,
      info: nothing,
      warn: (message, meta) => log.debug({ ...meta }, message),
      error: (message, meta) => log.warn({ ...meta }, message),
    },
    telemetryOptions: { logging: { filter: { core: "WARN", other: "ERROR" }, forward: {} } },
    shutdownSignals: [],
  });
}

/**
 * Maximum concurrent activities. Activities that call receivers or publishers mostly wait, up to 15 s for one that does
 * not respond: with a low limit, a hundred of those would delay the installs and retries of everyone else.
 */
const MAX_CONCURRENT_ACTIVITIES = 1_000;

/** Interval of activity heartbeats: a third of the shortest `heartbeatTimeout` of a workflow. */
const HEARTBEAT_MS = 5_000;

/**
 * Sends heartbeats for every activity, so that Temporal soon notices a killed worker, and records it as a span of the
 * trace that the workflow passes on.
 */
const activityInterceptor: ActivityInterceptorsFactory = (context) => ({
  inbound: {
    async execute(input, next) {
      const { activityType } = context.info;
      const timer = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
      try {
        return await (tracing()
          ? handleTraced(`activity ${activityType}`, traceparentOf(input.headers), () => next(input))
          : next(input));
      } finally {
        clearInterval(timer);
      }
    },
  },
});

/** Creates the worker that polls the task queue for all workflows and activities of the program. */
export function createTemporalWorker(options: TemporalWorkerOptions): TemporalWorker {
  const { log } = options;
  let stopping = false;
  let health = "starting";
  let loggedReason = "";
  const failures = { count: 0, lastAt: 0 };
  let worker: Worker | undefined;
  let loop: Promise<void> | undefined;
  let wake: () => void = () => {};

  /**
   * Shuts the worker down when its server returns from a long absence; the loop makes another at once. Before the
   * return the SDK could not shut it down in order. Returns what ends the watch.
   */
  function watchServer(watched: Worker): () => void {
    let awaySince: number | undefined;
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    async function look(): Promise<void> {
      const isReachable = await options.isReachable();
      if (isOver) return;
      const now = performance.now();
      if (!isReachable) awaySince ??= now;
      else if (awaySince !== undefined && now - awaySince >= (options.awayMs ?? AWAY_MS)) {
        if (watched.getState() === "RUNNING") watched.shutdown();
        return;
      } else awaySince = undefined;
      lookAfter(isReachable ? LOOK_MS : LOOK_AWAY_MS);
    }
    function lookAfter(ms: number): void {
      timer = setTimeout(() => void look(), ms);
    }
    lookAfter(LOOK_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }

  async function runOnce(): Promise<void> {
    // Comes first, so that code that cannot be bundled is reported even while Temporal is unreachable.
    const bundle = await workflowBundle(options.bundleFolder);
    const connection = await NativeConnection.connect(options.connection);
    try {
      worker = await Worker.create({
        connection,
        namespace: options.namespace,
        taskQueue: options.taskQueue,
        workflowBundle: bundle,
        activities: options.activities,
        maxConcurrentActivityTaskExecutions: MAX_CONCURRENT_ACTIVITIES,
        interceptors: { activity: [activityInterceptor] },
        shutdownGraceTime: options.graceMs,
        shutdownForceTime: options.graceMs + 1_000,
      });
      if (stopping) return;
      health = "ok";
      loggedReason = "";
      log.info("The Temporal worker takes work");
      const endWatch = watchServer(worker);
      await worker.run().finally(endWatch);
    } finally {
      health = NOT_CONNECTED;
      worker = undefined;
      await connection
        .close()
        .catch((error: unknown) => log.debug({ err: error }, "Closing the connection of the Temporal worker failed"));
    }
  }

  /**
   * Records why the worker cannot work; a reason that persists is logged once. That of a lost server counts as one,
   * although each attempt may fail in another way.
   */
  function recordFailure(error: unknown): void {
    // The text of a transport error is the SDK's view of its memory; the health of Temporal says it in words.
    const isAway = error instanceof TransportError;
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "failed") : "failed";
    health = isAway ? NOT_CONNECTED : reason;
    failures.count++;
    failures.lastAt = options.clock.now();
    if (health === loggedReason) return;
    loggedReason = health;
    log.warn({ err: isAway ? withoutStack(error) : error }, "The Temporal worker cannot work and retries");
  }

  async function run(): Promise<void> {
    while (!stopping) {
      try {
        await runOnce();
        // It was shut down, in order to be replaced.
        continue;
      } catch (error) {
        recordFailure(error);
      }
      if (!stopping) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          setTimeout(resolve, RECONNECT_MS);
        });
      }
    }
  }

  return {
    start() {
      installRuntime(log);
      loop = run();
    },
    async stop() {
      stopping = true;
      wake();
      if (worker?.getState() === "RUNNING") worker.shutdown();
      await loop;
    },
    health: () => health,
    failures: () => ({ ...failures }),
  };
}
