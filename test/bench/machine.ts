import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os";
import { canPin, loadCore, serverCore } from "./processes.ts";
import { tools } from "./load/tools.ts";

/** What the results depend on. */
export function machine() {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release()} ${process.arch}`,
    node: process.version,
    loadAverage: loadavg()[0] ?? 0,
    pinned: canPin ? { server: serverCore, load: loadCore, database: loadCore } : false,
    tools,
  };
}
