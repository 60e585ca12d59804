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
 * Absence of the server after which the worker is replaced when the server returns, milliseconds. The SDK polls for
 * work with a back-off of up to 12 s; a new worker polls at once.
 */
const AWAY_MS = 20_000;
/** Intervals of the check of the server: while it is reachable, and while it is away, milliseconds. */
const CHECK_MS = 3_000;
const CHECK_AWAY_MS = 1_000;
/**
 * How long after the return a worker with activities in flight is not replaced, but checked again, milliseconds: a
 * shutdown would give up those that take longer than `graceMs`, and then the SDK polls again anyway.
 */
const BUSY_MS = 12_000;

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
 * Sends heartbeats for every activity, so that Temporal soon notices a killed worker, records it as a span of the
 * trace that the workflow passes on, and counts it in `inFlight`.
 */
const interceptActivities =
  (inFlight: { count: number }): ActivityInterceptorsFactory =>
  (context) => ({
    inbound: {
      async execute(input, next) {
        const { activityType } = context.info;
        const timer = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
        inFlight.count++;
        try {
          return await (tracing()
            ? handleTraced(`activity ${activityType}`, traceparentOf(input.headers), () => next(input))
            : next(input));
        } finally {
          inFlight.count--;
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
  /** Activities in flight. */
  const inFlight = { count: 0 };
  let worker: Worker | undefined;
  /** The present worker was shut down in order to be replaced. */
  let isReplaced = false;
  let loop: Promise<void> | undefined;
  let wake: () => void = () => {};

  /**
   * Shuts the worker down once its server is back after a long absence; `run` then creates a new one. While the server
   * is away, the SDK cannot shut down cleanly. Returns a function that ends the check.
   */
  function watchServer(watched: Worker): () => void {
    let awaySince: number | undefined;
    let backSince: number | undefined;
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    async function check(): Promise<void> {
      const isReachable = await options.isReachable();
      if (isOver) return;
      const now = performance.now();
      if (!isReachable) {
        awaySince ??= now;
        backSince = undefined;
      } else if (awaySince !== undefined) {
        backSince ??= now;
        const wasLong = backSince - awaySince >= (options.awayMs ?? AWAY_MS);
        if (wasLong && inFlight.count === 0) return replace();
        if (!wasLong || now - backSince >= BUSY_MS) awaySince = backSince = undefined;
      }
      checkAfter(awaySince === undefined ? CHECK_MS : CHECK_AWAY_MS);
    }
    function replace(): void {
      if (watched.getState() !== "RUNNING") return;
      isReplaced = true;
      watched.shutdown();
    }
    function checkAfter(ms: number): void {
      timer = setTimeout(() => void check(), ms);
    }
    checkAfter(CHECK_MS);
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
        interceptors: { activity: [interceptActivities(inFlight)] },
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
      isReplaced = false;
      try {
        await runOnce();
      } catch (error) {
        // An activity that began after the check may outlast the shutdown.
        if (isReplaced) log.debug({ err: error }, "A Temporal worker did not shut down in order");
        else recordFailure(error);
      }
      if (!stopping && !isReplaced) {
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
