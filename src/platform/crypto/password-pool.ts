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

/** A job without `digest` hashes, with one verifies against it. */
export type HashJob =
  | { password: string; cost: PasswordCost; digest?: undefined }
  | { password: string; digest: string };
export type HashRequest = HashJob & { id: number };
export type HashReply = { id: number } & ({ ready: true } | { digest: string } | { ok: boolean } | { error: string });

/** Runs hash jobs in a helper process, a few at a time. */
export interface HashPool {
  /**
   * Queues a job of somebody, `from`; jobs run in turn over those who wait. When the queue is full, the latest job of
   * whoever has most waiting gives way, which may be this one. Rejects with 503 `unavailable` then, when the helper
   * died and when the pool is closed.
   */
  run(job: HashJob, from: string): Promise<HashReply>;
  /** Process id of the helper, if one runs. */
  helperPid(): number | undefined;
  /** Refuses what waits, lets what runs finish and ends the helper. */
  close(): Promise<void>;
}

export interface HashPoolOptions {
  /** Jobs at once, each a thread of the helper. */
  concurrency: number;
  /**
   * Work that may wait, milliseconds: as many jobs as the measured time of one allows, and one for each thread at
   * least.
   */
  queueMs: number;
  /** Most jobs that wait, however quick they are. Default 10,000. */
  mostWaiting?: number;
  /** Niceness of the helper, 0 to 19. */
  niceness: number;
}

interface Waiting {
  job: HashJob;
  resolve(reply: HashReply): void;
  reject(cause: Error): void;
}

/** What a job is taken to cost until one has been measured, milliseconds. */
const assumedMs = 50;
/** Weight of the latest job in the mean. */
const weight = 0.1;

const helper = fileURLToPath(new URL("./password-worker.ts", import.meta.url));

/** Makes the pool; the helper starts with the first job and again after a death. */
export function createHashPool({ concurrency, queueMs, niceness, mostWaiting = 10_000 }: HashPoolOptions): HashPool {
  const waiting = createFairQueue<Waiting>();
  const running = new Map<number, Waiting & { startedAt: number }>();
  let meanMs = assumedMs;
  let child: ChildProcess | undefined;
  let lastId = 0;
  let closed = false;
  let drained: (() => void) | undefined;

  function start(): ChildProcess {
    const started = fork(helper, [String(niceness)], {
      // The helper needs no secret of the environment, and no flags of a debugger or test runner.
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
    // A helper that has just started: what it was sent before begins now.
    if ("ready" in reply) for (const entry of running.values()) entry.startedAt = performance.now();
    const entry = running.get(reply.id);
    if (entry === undefined) return;
    running.delete(reply.id);
    meanMs += weight * (performance.now() - entry.startedAt - meanMs);
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

  /** Jobs that may wait now. */
  function room(): number {
    return Math.min(mostWaiting, Math.max(concurrency, Math.floor((queueMs * concurrency) / meanMs)));
  }

  /** The refusal of a job that has no place; the queue is worked off until the retry. */
  function crowded(): ServiceError {
    return errors.unavailable({ retryAfter: Math.max(1, (waiting.size() * meanMs) / concurrency / 1_000) });
  }

  /** An idle helper does not keep the service's process alive. */
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
      if (running.size >= concurrency && waiting.size() >= room()) {
        const displaced = waiting.displaceFor(from);
        if (displaced === undefined) return Promise.reject(crowded());
        displaced.reject(crowded());
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
