/** The process of our own load generator: runs jobs sent over IPC, one at a time, and sends back the results. */
import { runHttp1 } from "./closed-loop.ts";
import { runGrpc } from "./grpc.ts";
import type { LoadJob, LoadResult } from "./job.ts";

process.on("message", (job: LoadJob) => void run(job));
process.on("disconnect", () => process.exit(0));
process.send?.({ ready: {} });

async function run(job: LoadJob): Promise<void> {
  try {
    const before = process.cpuUsage();
    const counts = await (job.protocol === "grpc" ? runGrpc(job) : runHttp1(job));
    const used = process.cpuUsage(before);
    const result: LoadResult = {
      tool: "atrium",
      ...counts,
      perSecond: counts.completed / counts.seconds,
      cpu: (used.user + used.system) / 1e6 / counts.seconds,
    };
    process.send?.({ result });
  } catch (cause) {
    process.send?.({ error: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause) });
  }
}
