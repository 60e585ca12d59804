import { setTimeout as sleep } from "node:timers/promises";
import type { Infrastructure } from "../app/app.ts";
import type { Config } from "../platform/config.ts";
import { loadOrCreatePassword, loadOrCreateSecret, openDataFolder } from "../app/dev/data-folder.ts";
import { lockDataFolder } from "../app/dev/lock.ts";
import { startPostgres } from "../app/dev/postgres.ts";
import type { StartError } from "../platform/start-error.ts";
import type { Supervised } from "../app/dev/supervisor.ts";
import { findTemporalProgram } from "../app/dev/temporal-program.ts";
import { startTemporal } from "../app/dev/temporal.ts";
import type { TemporalTarget } from "../platform/temporal/connection.ts";

/** What `startServers` needs besides the configuration. */
export interface ServerContext {
  env: { PATH?: string | undefined; XDG_CACHE_HOME?: string | undefined };
  /** Prints one line of progress. */
  say(line: string): void;
  /** Aborts steps that may take long. */
  signal: AbortSignal;
  /** Called when an embedded server cannot be kept running. */
  onFatal(error: StartError): void;
  /** Starts no Temporal: for a process that only migrates. */
  databaseOnly: boolean;
}

/** The servers a process uses, external or embedded. */
export interface Servers {
  /** Each resolves when it can be used. */
  readonly database: Promise<{ url: string; migrationUrl: string }>;
  readonly temporal: Promise<TemporalTarget>;
  /** Resolves when the servers' processes exist, or after a second: then work that blocks this process delays none. */
  readonly spawned: Promise<unknown>;
  /**
   * Stops the embedded ones, also those still starting: Temporal first, PostgreSQL last; then unlocks the data folder.
   */
  stop(): Promise<void>;
  /** Signals the embedded ones to stop, without waiting. */
  abandon(): void;
}

/**
 * Starts the servers that the configuration does not name, both at once, and locks the data folder.
 * @throws StartError when the data folder cannot be used.
 */
export function startServers(config: Config, context: ServerContext): Servers {
  const { say, onFatal, signal } = context;
  const own: { temporal?: Supervised; postgres?: Supervised } = {};
  const needsPostgres = config.database.url === undefined && config.database.migrationUrl === undefined;
  const needsTemporal = config.temporal.address === undefined && !context.databaseOnly;
  const folder = needsPostgres || needsTemporal ? openDataFolder(config.dataDir) : undefined;
  const lock = folder === undefined ? undefined : lockDataFolder(folder);

  const spawnedPostgres = Promise.withResolvers<void>();
  const spawnedTemporal = Promise.withResolvers<void>();

  async function startDatabase(): Promise<{ url: string; migrationUrl: string }> {
    const url = config.database.url ?? config.database.migrationUrl;
    if (url !== undefined || folder === undefined)
      return { url: url ?? "", migrationUrl: config.database.migrationUrl ?? url ?? "" };
    const postgres = await startPostgres({ folder, log: say, onFatal, onSpawn: spawnedPostgres.resolve, signal });
    own.postgres = postgres;
    say(`PostgreSQL is running on 127.0.0.1:${postgres.port}`);
    return { url: postgres.url, migrationUrl: postgres.url };
  }

  async function startWorkflows(): Promise<TemporalTarget> {
    const { address, namespace, tls, apiKey } = config.temporal;
    if (address !== undefined || folder === undefined || context.databaseOnly)
      return { address: address ?? "", namespace, tls, apiKey };
    const program = await findTemporalProgram({
      path: context.env.PATH,
      cacheHome: context.env.XDG_CACHE_HOME,
      log: say,
      signal,
    });
    signal.throwIfAborted();
    const temporal = await startTemporal({
      folder,
      program,
      namespace,
      log: say,
      onFatal,
      onSpawn: spawnedTemporal.resolve,
      signal,
    });
    own.temporal = temporal;
    say(`Temporal is running on ${temporal.address}`);
    return { address: temporal.address, namespace };
  }

  const database = startDatabase();
  const temporal = startWorkflows();
  // The callers may await them only after they have failed; until then a rejection is not unhandled.
  for (const starting of [database, temporal]) starting.catch(() => undefined);
  const launched = [
    Promise.race([spawnedPostgres.promise, database]),
    Promise.race([spawnedTemporal.promise, temporal]),
  ];
  return {
    database,
    temporal,
    spawned: Promise.race([Promise.allSettled(launched), sleep(1000, undefined, { ref: false })]),
    async stop() {
      await Promise.allSettled([database, temporal]);
      await own.temporal?.stop();
      await own.postgres?.stop();
      lock?.release();
    },
    abandon() {
      own.temporal?.abandon();
      own.postgres?.abandon();
    },
  };
}

/** The keys and the first password: from the settings, else, in development, generated once in the data folder. */
export function loadSecrets(config: Config): Pick<Infrastructure, "instanceKey" | "masterKey" | "bootstrap"> {
  const { bootstrap } = config;
  const folder = config.development ? openDataFolder(config.dataDir) : undefined;
  const secret = (name: string) => (folder === undefined ? undefined : loadOrCreateSecret(folder, name, 32));
  const instanceKey = config.instanceKey ?? secret("instance-key");
  if (instanceKey === undefined) throw new Error("SERVICE_INSTANCE_KEY is not set");
  const password =
    bootstrap?.password ??
    (folder === undefined ? undefined : loadOrCreatePassword(folder, "bootstrap-password").password);
  return {
    instanceKey,
    masterKey: config.masterKey ?? secret("master-key"),
    bootstrap:
      bootstrap === undefined || password === undefined
        ? undefined
        : { org: bootstrap.org, email: bootstrap.email, password },
  };
}
