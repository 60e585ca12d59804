import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { errors } from "../errors.ts";
import type { ServiceError } from "../errors.ts";
import { openOutput, STANDARD_ERROR } from "../log-output.ts";
import { createFairQueue } from "./fair-queue.ts";

/** What the service sends to a helper process. */
export interface HelperRequest<Job> {
  id: number;
  job: Job;
}

/** What a helper process sends back; `ready` once, when it can work. */
export type HelperReply<Result> = { ready: true } | ({ id: number } & ({ result: Result } | { error: string }));

/** Runs jobs in a helper process, with bounded concurrency. */
export interface HelperPool<Job, Result> {
  /**
   * Queues a job of the client `from`; jobs are taken round-robin over clients. When the queue is full, the latest job
   * of the client with the longest queue is rejected, which may be this one.
   * @throws {unavailable} when the queue is full, the helper process has ended or the pool is closed
   * @throws {Error} when the helper could not do the job
   */
  run(job: Job, from: string): Promise<Result>;
  /** Process id of the helper, if it is running. */
  helperPid(): number | undefined;
  /** Rejects waiting jobs, lets running ones finish and ends the helper. */
  close(): Promise<void>;
}

export interface HelperPoolOptions {
  /** Name of the helper in messages of errors. */
  name: string;
  /** The program of the helper, which calls `serveJobs`. */
  program: URL;
  /** Maximum number of concurrent jobs, each on a thread of the helper where it uses the thread pool. */
  concurrency: number;
  /**
   * Maximum amount of waiting work, milliseconds. The measured mean duration of a job gives the number of jobs, at
   * least one per thread.
   */
  queueMs: number;
  /** Maximum number of waiting jobs. Default 10,000. */
  mostWaiting?: number;
  /** Niceness of the helper, 0 to 19. */
  niceness: number;
  /** Time without jobs after which the helper ends, milliseconds. Default: never. */
  idleMs?: number;
}

interface Waiting<Job, Result> {
  job: Job;
  resolve(result: Result): void;
  reject(cause: Error): void;
}

/** Assumed duration of a job before the first measurement, milliseconds. */
const INITIAL_MEAN_MS = 50;
/** Weight of the latest job in the mean. */
const MEAN_WEIGHT = 0.1;

/** Creates the pool. The helper starts with the first job, and again with the first job after it has ended. */
export function createHelperPool<Job, Result>(options: HelperPoolOptions): HelperPool<Job, Result> {
  const { name, concurrency, queueMs, niceness, mostWaiting = 10_000, idleMs } = options;
  const waiting = createFairQueue<Waiting<Job, Result>>();
  const running = new Map<number, Waiting<Job, Result> & { startedAt: number }>();
  let meanMs = INITIAL_MEAN_MS;
  let child: ChildProcess | undefined;
  let idle: NodeJS.Timeout | undefined;
  let lastId = 0;
  let closed = false;
  let drained: (() => void) | undefined;

  function start(): ChildProcess {
    const started = fork(fileURLToPath(options.program), [String(niceness)], {
      // Without the secrets in the environment, and without the flags of a debugger or test runner.
      env: { UV_THREADPOOL_SIZE: String(concurrency) },
      execArgv: [],
      // A child that inherits an output makes writes of this process to it wait for the reader.
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      serialization: "json",
    });
    const errorOutput = started.stderr as Socket | null;
    errorOutput?.setEncoding("utf8").on("data", (text: string) => openOutput(STANDARD_ERROR).write(text));
    errorOutput?.unref();
    started.on("message", (reply: HelperReply<Result>) => settle(reply));
    started.once("error", (cause) => lost(started, cause));
    started.once("exit", () => lost(started, new Error(`the ${name} ended`)));
    return started;
  }

  function settle(reply: HelperReply<Result>): void {
    if ("ready" in reply) {
      // The helper has just started: jobs sent before begin now.
      for (const entry of running.values()) entry.startedAt = performance.now();
      return;
    }
    const entry = running.get(reply.id);
    if (entry === undefined) return;
    running.delete(reply.id);
    meanMs += MEAN_WEIGHT * (performance.now() - entry.startedAt - meanMs);
    if ("result" in reply) entry.resolve(reply.result);
    else entry.reject(new Error(`the ${name} failed: ${reply.error}`));
    next();
  }

  function lost(which: ChildProcess, cause: Error): void {
    if (child !== which) return;
    child = undefined;
    const orphans = [...running.values()];
    running.clear();
    for (const entry of orphans) entry.reject(errors.unavailable({ retryAfter: 1, cause }));
    next();
  }

  function next(): void {
    while (running.size < concurrency) {
      const entry = waiting.take();
      if (entry === undefined) break;
      const id = ++lastId;
      running.set(id, { ...entry, startedAt: performance.now() });
      child ??= start();
      const target = child;
      target.send({ id, job: entry.job } satisfies HelperRequest<Job>, (cause) => {
        if (cause !== null) lost(target, cause);
      });
    }
    keepAlive(running.size > 0);
    if (running.size === 0) drained?.();
  }

  /** Returns the present maximum number of waiting jobs. */
  function queueLimit(): number {
    return Math.min(mostWaiting, Math.max(concurrency, Math.floor((queueMs * concurrency) / meanMs)));
  }

  /** Returns the error of a job that finds the queue full; the queue is processed within its retry delay. */
  function queueFull(): ServiceError {
    return errors.unavailable({ retryAfter: Math.max(1, (waiting.size() * meanMs) / concurrency / 1_000) });
  }

  /** Lets an idle helper not keep the process of the service alive, and ends it in the end. */
  function keepAlive(busy: boolean): void {
    clearTimeout(idle);
    if (busy) {
      child?.ref();
      child?.channel?.ref();
      return;
    }
    child?.unref();
    child?.channel?.unref();
    if (idleMs !== undefined && child !== undefined) idle = setTimeout(endIdle, idleMs).unref();
  }

  /** The helper ends when it is disconnected. */
  function endIdle(): void {
    const last = child;
    child = undefined;
    if (last?.connected === true) last.disconnect();
  }

  return {
    run(job, from) {
      if (closed) return Promise.reject(errors.unavailable({ retryAfter: 1 }));
      if (running.size >= concurrency && waiting.size() >= queueLimit()) {
        const displaced = waiting.displaceFor(from);
        if (displaced === undefined) return Promise.reject(queueFull());
        displaced.reject(queueFull());
      }
      return new Promise((resolve, reject) => {
        waiting.add(from, { job, resolve, reject });
        next();
      });
    },
    helperPid: () => child?.pid,
    async close() {
      closed = true;
      for (const entry of waiting.clear()) entry.reject(errors.unavailable({ retryAfter: 1 }));
      if (running.size > 0) await new Promise<void>((resolve) => (drained = resolve));
      clearTimeout(idle);
      const last = child;
      if (last === undefined || last.exitCode !== null || last.signalCode !== null) return;
      last.ref();
      const ended = new Promise((resolve) => last.once("exit", resolve));
      if (last.connected) last.disconnect();
      const timer = setTimeout(() => last.kill("SIGKILL"), 2_000);
      await ended;
      clearTimeout(timer);
    },
  };
}
