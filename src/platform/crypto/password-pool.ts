import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { errors } from "../errors.ts";

/** Cost of argon2id (RFC 9106). */
export interface PasswordCost {
  /** KiB. */
  memoryCost: number;
  timeCost: number;
  parallelism: number;
}

/** A job without `digest` hashes, with one verifies against it. */
export type HashJob = { password: string; cost: PasswordCost; digest?: undefined } | { password: string; digest: string };
export type HashRequest = HashJob & { id: number };
export type HashReply = { id: number } & ({ ready: true } | { digest: string } | { ok: boolean } | { error: string });

/** Runs hash jobs in a helper process, a few at a time. */
export interface HashPool {
  /** Queues a job. Rejects with 503 `unavailable` when the queue is full, the helper died or the pool is closed. */
  run(job: HashJob): Promise<HashReply>;
  /** Process id of the helper, if one runs. */
  helperPid(): number | undefined;
  /** Refuses what waits, lets what runs finish and ends the helper. */
  close(): Promise<void>;
}

export interface HashPoolOptions {
  /** Jobs at once, each a thread of the helper. */
  concurrency: number;
  /** Jobs that may wait besides those that run. */
  queue: number;
  /** Niceness of the helper, 0 to 19. */
  niceness: number;
}

interface Waiting {
  job: HashJob;
  resolve(reply: HashReply): void;
  reject(cause: Error): void;
}

const helper = fileURLToPath(new URL("./password-worker.ts", import.meta.url));

/** Makes the pool; the helper starts with the first job and again after a death. */
export function createHashPool({ concurrency, queue, niceness }: HashPoolOptions): HashPool {
  const waiting: Waiting[] = [];
  const running = new Map<number, Waiting>();
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
    const entry = running.get(reply.id);
    if (entry === undefined) return;
    running.delete(reply.id);
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
      const entry = waiting.shift();
      if (entry === undefined) break;
      const id = ++lastId;
      running.set(id, entry);
      child ??= start();
      const target = child;
      target.send({ ...entry.job, id }, (cause) => {
        if (cause !== null) lost(target, cause);
      });
    }
    keepAlive(running.size > 0);
    if (running.size === 0) drained?.();
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
    run(job) {
      if (closed || waiting.length + running.size >= concurrency + queue) return Promise.reject(errors.unavailable({ retryAfter: 1 }));
      return new Promise((resolve, reject) => {
        waiting.push({ job, resolve, reject });
        next();
      });
    },
    helperPid: () => child?.pid,
    async close() {
      closed = true;
      for (const entry of waiting.splice(0)) entry.reject(errors.unavailable({ retryAfter: 1 }));
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
