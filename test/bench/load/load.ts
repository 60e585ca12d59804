import { loadCore, startHelper } from "../processes.ts";
import type { Cores } from "../processes.ts";
import type { LoadJob, LoadResult } from "./job.ts";
import { toolFor } from "./tools.ts";

/** Makes load, from the load core by default. */
export interface Load {
  /** Runs a job. Throws when a request failed, unless the row is about refusals. */
  run(job: LoadJob): Promise<LoadResult>;
  stop(): Promise<void>;
}

/** Starts our generator's process; wrk and h2load take over where they are there and the job is one for them. */
export async function startLoad({
  tools = true,
  cores = loadCore,
}: {
  tools?: boolean;
  cores?: Cores;
} = {}): Promise<Load> {
  const generator = await startHelper(cores, "load/generator.ts");
  return {
    async run(job) {
      const tool = tools && job.tools !== false ? toolFor(job) : undefined;
      const result = tool === undefined ? await generator.ask<LoadResult>(job) : await tool(job);
      if (result.failed > 0) {
        const { failed, completed, statuses = [] } = result;
        const details = [job.protocol, `port ${job.port}`, ...statuses.map((status) => `status ${status}`)];
        throw new Error(`${failed} of ${completed + failed} requests failed (${details.join(", ")})`);
      }
      return result;
    },
    stop: () => generator.stop(),
  };
}
