import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../platform/config.ts";
import { embeddedUrl } from "../platform/embedded/postgres.ts";
import { StartError } from "../platform/embedded/start-error.ts";
import type { Log } from "../platform/log.ts";
import type { TemporalTarget } from "../platform/temporal/connection.ts";

function read(config: Config, ...path: string[]): string {
  try {
    return readFileSync(join(config.dataDir, ...path), "utf8").trim();
  } catch (error) {
    throw new StartError(`Nothing has been started in ${config.dataDir} yet, and no DATABASE_URL or TEMPORAL_ADDRESS is set.`, error);
  }
}

/** Where the servers of a running service are, without starting any. Throws StartError where there never was one. */
function findServers(config: Config): { databaseUrl: string; temporal: TemporalTarget } {
  const { address, namespace, tls, apiKey } = config.temporal;
  return {
    databaseUrl: config.database.url ?? embeddedUrl(Number(read(config, "postgres.port")), read(config, "secrets", "postgres-password")),
    temporal: address === undefined ? { address: `127.0.0.1:${read(config, "temporal.port")}`, namespace } : { address, namespace, tls, apiKey },
  };
}

/** Prints what is stuck and why; the exit code is 0 when nothing is and 1 otherwise. */
export async function printStatus(config: Config, log: Log, print: (text: string) => void): Promise<number> {
  const servers = findServers(config);
  const { readStatus } = await import("../compose/status.ts");
  const { lines, healthy } = await readStatus(servers, log);
  print(`${lines.join("\n")}\n`);
  return healthy ? 0 : 1;
}
