import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { errors } from "../errors.ts";
import type { ServiceError } from "../errors.ts";
import { createFairQueue } from "./password-queue.ts";

/** Cost of argon2id (RFC 9106). */
export interface PasswordCost {
  /** KiB. */
  memoryCost: number;
  timeCost: number;
  parallelism: number;
}

/** A job without `digest` hashes the password; a job with one verifies the password against it. */
export type HashJob =
  | { password: string; cost: PasswordCost; digest?: undefined }
  | { password: string; digest: string };
export type HashRequest = HashJob & { id: number };
export type HashReply = { id: number } & ({ ready: true } | { digest: string } | { ok: boolean } | { error: string });

/** Runs hash jobs in a helper process, with bounded concurrency. */
export interface HashPool {
  /**
   * Queues a job of the client `from`; jobs are taken round-robin over clients. When the queue is full, the latest job
   * of the client with the longest queue is rejected, which may be this one.
   * @throws {unavailable} when the queue is full, the helper process has ended or the pool is closed
   */
  run(job: HashJob, from: string): Promise<HashReply>;
  /** Process id of the helper, if it is running. */
  helperPid(): number | undefined;
  /** Rejects waiting jobs, lets running ones finish and ends the helper. */
  close(): Promise<void>;
}

export interface HashPoolOptions {
  /** Maximum number of concurrent jobs, each on a thread of the helper. */
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
}

interface Waiting {
  job: HashJob;
  resolve(reply: HashReply): void;
  reject(cause: Error): void;
}

/** Assumed duration of a job before the first measurement, milliseconds. */
const INITIAL_MEAN_MS = 50;
/** Weight of the latest job in the mean. */
const MEAN_WEIGHT = 0.1;

const helper = fileURLToPath(new URL("./password-worker.ts", import.meta.url));

/** Creates the pool. The helper starts with the first job, and again with the first job after it has ended. */
export function createHashPool({ concurrency, queueMs, niceness, mostWaiting = 10_000 }: HashPoolOptions): HashPool {
  const waiting = createFairQueue<Waiting>();
  const running = new Map<number, Waiting & { startedAt: number }>();
  let meanMs = INITIAL_MEAN_MS;
  let child: ChildProcess | undefined;
  let lastId = 0;
  let closed = false;
  let drained: (() => void) | undefined;

  function start(): ChildProcess {
    const started = fork(helper, [String(niceness)], {
      // Without the secrets in the environment, and without the flags of a debugger or test runner.
      env: { UV_THREADPOOL_SIZE: String(concurrency) },
      execArgv: [],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      serialization: "json",
    });
    started.on("message", (reply: HashReply) => settle(reply));
    started.once("error", (cause) => lost(started, cause));
    started.once("exit", () => lost(started, new Error("the password helper ended")));
    return started;
  }

  function settle(reply: HashReply): void {
    // The helper has just started: jobs sent before begin now.
    if ("ready" in reply) for (const entry of running.values()) entry.startedAt = performance.now();
    const entry = running.get(reply.id);
    if (entry === undefined) return;
    running.delete(reply.id);
    meanMs += MEAN_WEIGHT * (performance.now() - entry.startedAt - meanMs);
    entry.resolve(reply);
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
      target.send({ ...entry.job, id }, (cause) => {
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

  /** Lets an idle helper not keep the process of the service alive. */
  function keepAlive(busy: boolean): void {
    if (busy) {
      child?.ref();
      child?.channel?.ref();
    } else {
      child?.unref();
      child?.channel?.unref();
    }
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
