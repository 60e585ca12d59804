import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadSecrets } from "./infrastructure.ts";
import type { Config } from "../platform/config.ts";
import { embeddedUrl } from "../app/dev/postgres.ts";
import { StartError } from "../platform/start-error.ts";
import type { Log } from "../platform/log.ts";
import type { TemporalTarget } from "../platform/temporal/connection.ts";

/** Text of a file in the data folder. @throws StartError when it does not exist */
function readDataFile(config: Config, ...path: string[]): string {
  try {
    return readFileSync(join(config.dataDir, ...path), "utf8").trim();
  } catch (error) {
    throw new StartError(
      `No service has run in ${config.dataDir} yet; start one, or set DATABASE_URL and TEMPORAL_ADDRESS.`,
      error,
    );
  }
}

/** Connection string of a running service's database. */
function findDatabase(config: Config): string {
  return (
    config.database.url ??
    embeddedUrl(Number(readDataFile(config, "postgres.port")), readDataFile(config, "secrets", "postgres-password"))
  );
}

/** Addresses of a running service's servers. Starts none. @throws StartError when no service has run here */
function findServers(config: Config): { databaseUrl: string; temporal: TemporalTarget } {
  const { address, namespace, tls, apiKey } = config.temporal;
  return {
    databaseUrl: findDatabase(config),
    temporal:
      address === undefined
        ? { address: `127.0.0.1:${readDataFile(config, "temporal.port")}`, namespace }
        : { address, namespace, tls, apiKey },
  };
}

/** Prints what is stuck and why. @returns the exit code: 0 when nothing is stuck, else 1 */
export async function printStatus(config: Config, log: Log, print: (text: string) => void): Promise<number> {
  const servers = findServers(config);
  const { readStatus } = await import("../app/status.ts");
  const { lines, healthy } = await readStatus(servers, log);
  print(`${lines.join("\n")}\n`);
  return healthy ? 0 : 1;
}

/** Moves what previous keys sealed to the present keys. @returns the exit code */
export async function runRewrap(config: Config, log: Log, say: (line: string) => void): Promise<number> {
  const databaseUrl = findDatabase(config);
  const { rewrap } = await import("../app/rewrap.ts");
  const { instanceKey, masterKey } = loadSecrets(config);
  return rewrap({
    databaseUrl,
    isEmbedded: config.database.url === undefined,
    instance: { present: instanceKey, previous: config.previousInstanceKey },
    master: { present: masterKey, previous: config.previousMasterKey },
    log,
    say,
  });
}

/** Prints a link with which a person sets a new password. @throws StartError when no account has the address */
export async function printResetLink(
  config: Config,
  email: string,
  log: Log,
  print: (text: string) => void,
): Promise<void> {
  const databaseUrl = findDatabase(config);
  const { resetPassword } = await import("../app/reset-password.ts");
  const { instanceKey } = loadSecrets(config);
  const { link, expiresAt } = await resetPassword({ databaseUrl, instanceKey, config, log }, email);
  print(
    `${link}\nThe link works once, until ${expiresAt.toISOString()}. ` +
      `It opens a page where ${email} sets a new password.\n`,
  );
}
