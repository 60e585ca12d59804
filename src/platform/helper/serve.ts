/** The side of a helper process that a pool starts: a low priority, jobs, and an end when the service ends it. */
import { setPriority } from "node:os";
import { STOP_SIGNALS } from "../stop-signals.ts";
import type { HelperReply, HelperRequest } from "./pool.ts";

/**
 * Does jobs until the service disconnects. `load` imports what they need; it is called once the priority is set, which
 * on Linux the threads of the thread pool inherit from the thread that starts them.
 */
export async function serveJobs<Job, Result>(
  load: () => Promise<(job: Job) => Result | Promise<Result>>,
): Promise<void> {
  setPriority(Number(process.argv[2] ?? "0"));
  // The service ends the helper: a terminal signals the whole process group, but jobs in flight still finish.
  for (const name of STOP_SIGNALS) process.on(name, () => undefined);
  process.on("disconnect", () => process.exit(0));
  const work = await load();
  const answer = async ({ id, job }: HelperRequest<Job>): Promise<void> => {
    try {
      reply({ id, result: await work(job) });
    } catch (cause) {
      reply({ id, error: cause instanceof Error ? cause.message : String(cause) });
    }
  };
  process.on("message", (request: HelperRequest<Job>) => void answer(request));
  reply({ ready: true });
}

function reply(message: HelperReply<unknown>): void {
  if (process.connected) process.send?.(message, () => undefined);
}
