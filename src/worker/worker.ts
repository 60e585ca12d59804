import { NativeConnection, Runtime, Worker } from "@temporalio/worker";
import type { ActivityInterceptorsFactory, NativeConnectionOptions } from "@temporalio/worker";
import type { Clock } from "../platform/clock.ts";
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
  /** Longest wait for running activities at shutdown, milliseconds. */
  graceMs: number;
  /** Where the workflow bundle is kept; default: beside the packages. */
  bundleFolder?: string;
}

/** A worker that outlives its server: it connects when it can and again when it has lost it. */
export interface TemporalWorker {
  start(): void;
  stop(): Promise<void>;
  /** `ok` while it takes work, else what is wrong. */
  health(): string;
  /**
   * How often the server was lost or could not be reached, and when that was last (milliseconds since the epoch, 0:
   * never).
   */
  failures(): { count: number; lastAt: number };
}

const RECONNECT_MS = 1_000;

let runtimeInstalled = false;

/** The SDK's runtime belongs to the process: it logs where the first worker of the process says. */
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
    shutdownSignals: [],
  });
}

/**
 * Activities at once. Those that call others mostly wait, up to 15 s for a receiver or publisher that never answers:
 * with few places, a hundred of these would keep everybody else's installs and retries waiting.
 */
const ACTIVITIES_AT_ONCE = 1_000;

/**
 * How often a running activity says that its worker lives; a third of the shortest `heartbeatTimeout` of a workflow.
 */
const HEARTBEAT_MS = 5_000;

/**
 * Activities that tell they are alive, so that a killed worker is missed soon; and as spans of the trace that the
 * workflow hands on.
 */
const aroundActivity: ActivityInterceptorsFactory = (context) => ({
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

/** Polls the task queue with every workflow and activity of the program. */
export function createTemporalWorker(options: TemporalWorkerOptions): TemporalWorker {
  const { log } = options;
  let stopping = false;
  let health = "starting";
  let told = "";
  const failures = { count: 0, lastAt: 0 };
  let worker: Worker | undefined;
  let loop: Promise<void> | undefined;
  let wake: () => void = () => {};

  async function runOnce(): Promise<void> {
    // First, so that code that cannot be bundled is told of even while Temporal is away.
    const bundle = await workflowBundle(options.bundleFolder);
    const connection = await NativeConnection.connect(options.connection);
    try {
      worker = await Worker.create({
        connection,
        namespace: options.namespace,
        taskQueue: options.taskQueue,
        workflowBundle: bundle,
        activities: options.activities,
        maxConcurrentActivityTaskExecutions: ACTIVITIES_AT_ONCE,
        interceptors: { activity: [aroundActivity] },
        shutdownGraceTime: options.graceMs,
        shutdownForceTime: options.graceMs + 1_000,
      });
      if (stopping) return;
      health = "ok";
      told = "";
      await worker.run();
    } finally {
      health = "not connected";
      worker = undefined;
      await connection
        .close()
        .catch((error: unknown) => log.debug({ err: error }, "closing the worker's connection failed"));
    }
  }

  /** Remembers why it cannot work; a reason that stays is logged once. */
  function failed(error: unknown): void {
    health = error instanceof Error ? (error.message.split("\n")[0] ?? "failed") : "failed";
    failures.count++;
    failures.lastAt = options.clock.now();
    if (health === told) return;
    told = health;
    log.warn({ err: error }, "the Temporal worker cannot work and tries again");
  }

  async function run(): Promise<void> {
    while (!stopping) {
      try {
        await runOnce();
      } catch (error) {
        failed(error);
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
