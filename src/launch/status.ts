import { readFileSync } from "node:fs";
import { join } from "node:path";
import { firstSecrets } from "./infrastructure.ts";
import type { Config } from "../platform/config.ts";
import { embeddedUrl } from "../app/dev/postgres.ts";
import { StartError } from "../platform/start-error.ts";
import type { Log } from "../platform/log.ts";
import type { TemporalTarget } from "../platform/temporal/connection.ts";

function read(config: Config, ...path: string[]): string {
  try {
    return readFileSync(join(config.dataDir, ...path), "utf8").trim();
  } catch (error) {
    throw new StartError(
      `Nothing has been started in ${config.dataDir} yet, and no DATABASE_URL or TEMPORAL_ADDRESS is set.`,
      error,
    );
  }
}

/** Where the database of a running service is. */
function findDatabase(config: Config): string {
  return (
    config.database.url ??
    embeddedUrl(Number(read(config, "postgres.port")), read(config, "secrets", "postgres-password"))
  );
}

/** Where the servers of a running service are, without starting any. Throws StartError where there never was one. */
function findServers(config: Config): { databaseUrl: string; temporal: TemporalTarget } {
  const { address, namespace, tls, apiKey } = config.temporal;
  return {
    databaseUrl: findDatabase(config),
    temporal:
      address === undefined
        ? { address: `127.0.0.1:${read(config, "temporal.port")}`, namespace }
        : { address, namespace, tls, apiKey },
  };
}

/** Prints what is stuck and why; the exit code is 0 when nothing is and 1 otherwise. */
export async function printStatus(config: Config, log: Log, print: (text: string) => void): Promise<number> {
  const servers = findServers(config);
  const { readStatus } = await import("../app/status.ts");
  const { lines, healthy } = await readStatus(servers, log);
  print(`${lines.join("\n")}\n`);
  return healthy ? 0 : 1;
}

/** Prints a link with which somebody sets a new password. @throws StartError when nobody has the address */
export async function printResetLink(
  config: Config,
  email: string,
  log: Log,
  print: (text: string) => void,
): Promise<void> {
  const databaseUrl = findDatabase(config);
  const { resetPassword } = await import("../app/reset-password.ts");
  const { instanceKey } = firstSecrets(config);
  const { link, expiresAt } = await resetPassword({ databaseUrl, instanceKey, config, log }, email);
  print(`${link}\nWorks once, until ${expiresAt.toISOString()}; opens a page that asks ${email} for a new password.\n`);
}
